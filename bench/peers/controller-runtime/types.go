package main

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "apps.vecodex.link", Version: "v1alpha1"}

type Role struct {
	Image     string                      `json:"image"`
	Replicas  int32                       `json:"replicas"`
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
}

type IngressSpec struct {
	Host string `json:"host"`
}

type VecodexSetSpec struct {
	Coordinator Role        `json:"coordinator"`
	Writer      Role        `json:"writer"`
	Searcher    Role        `json:"searcher"`
	Ingress     IngressSpec `json:"ingress"`
}

type RoleStatus struct {
	Summary  string `json:"summary"`
	Desired  int32  `json:"desired"`
	Replicas int32  `json:"replicas"`
	Ready    int32  `json:"ready"`
	Updated  int32  `json:"updated"`
	Image    string `json:"image"`
}

type VecodexSetStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Phase              string             `json:"phase,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	Selector           string             `json:"selector,omitempty"`
	Endpoint           string             `json:"endpoint,omitempty"`
	Coordinator        RoleStatus         `json:"coordinator"`
	Writer             RoleStatus         `json:"writer"`
	Searcher           RoleStatus         `json:"searcher"`
}

type VecodexSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   VecodexSetSpec   `json:"spec,omitempty"`
	Status VecodexSetStatus `json:"status,omitempty"`
}

type VecodexSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []VecodexSet `json:"items"`
}

func addToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(groupVersion, &VecodexSet{}, &VecodexSetList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return nil
}

func (in *VecodexSet) DeepCopyInto(out *VecodexSet) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Spec.Coordinator.Resources.DeepCopyInto(&out.Spec.Coordinator.Resources)
	in.Spec.Writer.Resources.DeepCopyInto(&out.Spec.Writer.Resources)
	in.Spec.Searcher.Resources.DeepCopyInto(&out.Spec.Searcher.Resources)
	if in.Status.Conditions != nil {
		out.Status.Conditions = make([]metav1.Condition, len(in.Status.Conditions))
		for i := range in.Status.Conditions {
			in.Status.Conditions[i].DeepCopyInto(&out.Status.Conditions[i])
		}
	}
}

func (in *VecodexSet) DeepCopyObject() runtime.Object {
	out := new(VecodexSet)
	in.DeepCopyInto(out)
	return out
}

func (in *VecodexSetList) DeepCopyObject() runtime.Object {
	out := &VecodexSetList{TypeMeta: in.TypeMeta, Items: make([]VecodexSet, len(in.Items))}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range in.Items {
		in.Items[i].DeepCopyInto(&out.Items[i])
	}
	return out
}
