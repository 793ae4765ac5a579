package main

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The functions here set only what the operator wants and keep what the API server defaulted.
// Setting whole structs would differ from what is stored, and every reconcile would write.

type namedRole struct {
	name string
	Role
}

func (set *VecodexSet) roles() []namedRole {
	return []namedRole{
		{"coordinator", set.Spec.Coordinator},
		{"writer", set.Spec.Writer},
		{"searcher", set.Spec.Searcher},
	}
}

func (set *VecodexSet) child(component string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: set.Name + "-" + component, Namespace: set.Namespace}
}

func selectorOf(child metav1.Object) map[string]string {
	return map[string]string{"app": child.GetName()}
}

func setLabels(child client.Object, set *VecodexSet, component string) {
	labels := child.GetLabels()
	if labels == nil {
		labels = make(map[string]string, 4)
	}
	labels["app.kubernetes.io/name"] = "vecodex"
	labels["app.kubernetes.io/instance"] = set.Name
	labels["app.kubernetes.io/component"] = component
	labels["app.kubernetes.io/managed-by"] = "quiver"
	child.SetLabels(labels)
}

func setDeployment(deployment *appsv1.Deployment, role namedRole) {
	spec, selector := &deployment.Spec, selectorOf(deployment)
	spec.Replicas = &role.Replicas
	if spec.Selector == nil {
		spec.Selector = &metav1.LabelSelector{MatchLabels: selector}
	}
	quarter := intstr.FromString("25%")
	spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{
		MaxSurge: &quarter, MaxUnavailable: &quarter,
	}
	spec.Template.Labels = selector
	pod := &spec.Template.Spec
	if len(pod.Containers) != 1 || pod.Containers[0].Name != role.name {
		pod.Containers = []corev1.Container{{Name: role.name}}
	}
	pod.Containers[0].Image = role.Image
	pod.Containers[0].Resources = role.Resources
}

func setService(service *corev1.Service) {
	service.Spec.Type = corev1.ServiceTypeClusterIP
	service.Spec.Selector = selectorOf(service)
	if len(service.Spec.Ports) != 1 {
		service.Spec.Ports = make([]corev1.ServicePort, 1)
	}
	port := &service.Spec.Ports[0]
	port.Name = "http"
	port.Protocol = corev1.ProtocolTCP
	port.Port = 80
	port.TargetPort = intstr.FromInt32(44400)
}

func setIngress(ingress *networkingv1.Ingress, set *VecodexSet) {
	prefix := networkingv1.PathTypePrefix
	backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
		Name: set.child("coordinator").Name,
		Port: networkingv1.ServiceBackendPort{Number: 80},
	}}
	paths := []networkingv1.HTTPIngressPath{{Path: "/", PathType: &prefix, Backend: backend}}
	ingress.Spec.Rules = []networkingv1.IngressRule{{
		Host: set.Spec.Ingress.Host,
		IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{Paths: paths},
		},
	}}
}
