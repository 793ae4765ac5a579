package main

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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

func labelsOf(name string) map[string]string {
	return map[string]string{"app": name}
}

func withLabels(meta *metav1.ObjectMeta, labels map[string]string) {
	if meta.Labels == nil {
		meta.Labels = make(map[string]string, len(labels))
	}
	maps.Copy(meta.Labels, labels)
}

func setDeployment(deployment *appsv1.Deployment, role namedRole) {
	labels := labelsOf(deployment.Name)
	withLabels(&deployment.ObjectMeta, labels)
	withLabels(&deployment.Spec.Template.ObjectMeta, labels)
	deployment.Spec.Replicas = &role.Replicas
	if deployment.Spec.Selector == nil {
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	}
	pod := &deployment.Spec.Template.Spec
	if len(pod.Containers) != 1 || pod.Containers[0].Name != role.name {
		pod.Containers = []corev1.Container{{Name: role.name}}
	}
	pod.Containers[0].Image = role.Image
	pod.Containers[0].Resources = role.Resources
}

func setService(service *corev1.Service) {
	labels := labelsOf(service.Name)
	withLabels(&service.ObjectMeta, labels)
	service.Spec.Selector = labels
	if len(service.Spec.Ports) != 1 {
		service.Spec.Ports = make([]corev1.ServicePort, 1)
	}
	port := &service.Spec.Ports[0]
	port.Protocol = corev1.ProtocolTCP
	port.Port = 80
	port.TargetPort = intstr.FromInt32(8080)
}

func setIngress(ingress *networkingv1.Ingress, host, service string) {
	prefix := networkingv1.PathTypePrefix
	backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
		Name: service,
		Port: networkingv1.ServiceBackendPort{Number: 80},
	}}
	paths := []networkingv1.HTTPIngressPath{{Path: "/", PathType: &prefix, Backend: backend}}
	ingress.Spec.Rules = []networkingv1.IngressRule{{
		Host: host,
		IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{Paths: paths},
		},
	}}
}
