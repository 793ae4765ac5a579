package main

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// setStatus tells of the set what its Deployments, in the order of its roles, tell of themselves.
func setStatus(set *VecodexSet, deployments []*appsv1.Deployment) {
	status := &set.Status
	status.ObservedGeneration = set.Generation
	status.Selector = "app=" + set.child("searcher").Name
	status.Endpoint = "http://" + set.Spec.Ingress.Host
	status.Coordinator = roleStatus(deployments[0])
	status.Writer = roleStatus(deployments[1])
	status.Searcher = roleStatus(deployments[2])
	lacks := lacking(set, deployments)
	setCondition(set, "Ready", lacks == "", "AllReady", "NotReady", lacks)
	setCondition(set, "Progressing", lacks != "", "RollingOut", "Complete", lacks)
	setCondition(set, "Degraded", false, "ComponentFailed", "AsExpected", "nothing failed")
	status.Phase = "Progressing"
	if lacks == "" {
		status.Phase = "Ready"
	}
}

func roleStatus(deployment *appsv1.Deployment) RoleStatus {
	wanted, live := *deployment.Spec.Replicas, deployment.Status
	return RoleStatus{
		Summary:  fmt.Sprintf("%d/%d", live.ReadyReplicas, wanted),
		Desired:  wanted,
		Replicas: live.Replicas,
		Ready:    live.ReadyReplicas,
		Updated:  live.UpdatedReplicas,
		Image:    deployment.Spec.Template.Spec.Containers[0].Image,
	}
}

func lacking(set *VecodexSet, deployments []*appsv1.Deployment) string {
	var lacks []string
	for i, role := range set.roles() {
		live := deployments[i].Status
		if live.ObservedGeneration < deployments[i].Generation {
			lacks = append(lacks, role.name+": its controller has not looked at it yet")
		} else if live.ReadyReplicas < role.Replicas {
			lacks = append(lacks, fmt.Sprintf("%s: %d of %d pods are ready", role.name, live.ReadyReplicas, role.Replicas))
		}
	}
	return strings.Join(lacks, "; ")
}

func setCondition(set *VecodexSet, kind string, holds bool, ifTrue, ifFalse, message string) {
	status, reason := metav1.ConditionFalse, ifFalse
	if holds {
		status, reason = metav1.ConditionTrue, ifTrue
	}
	meta.SetStatusCondition(&set.Status.Conditions, metav1.Condition{
		Type:               kind,
		Status:             status,
		ObservedGeneration: set.Generation,
		Reason:             reason,
		Message:            message,
	})
}
