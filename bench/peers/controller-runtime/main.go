// An operator for VecodexSets on controller-runtime, written as kubebuilder's book teaches it:
// typed objects, CreateOrUpdate from the cache, owned kinds watched, one status update.
package main

import (
	"context"
	"flag"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

type reconciler struct {
	client.Client
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	set := &VecodexSet{}
	if err := r.Get(ctx, request.NamespacedName, set); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !set.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	var deployments []*appsv1.Deployment
	for _, role := range set.roles() {
		deployment, err := r.ensureRole(ctx, set, role)
		if err != nil {
			return ctrl.Result{}, err
		}
		deployments = append(deployments, deployment)
	}
	if err := r.ensureIngress(ctx, set); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.report(ctx, set, deployments)
}

func (r *reconciler) ensureRole(
	ctx context.Context, set *VecodexSet, role namedRole,
) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{ObjectMeta: set.child(role.name)}
	err := r.ensure(ctx, set, deployment, role.name, func() { setDeployment(deployment, role) })
	if err != nil {
		return nil, err
	}
	service := &corev1.Service{ObjectMeta: set.child(role.name)}
	return deployment, r.ensure(ctx, set, service, role.name, func() { setService(service) })
}

func (r *reconciler) ensureIngress(ctx context.Context, set *VecodexSet) error {
	ingress := &networkingv1.Ingress{ObjectMeta: set.child("ingress")}
	return r.ensure(ctx, set, ingress, "ingress", func() { setIngress(ingress, set) })
}

func (r *reconciler) ensure(
	ctx context.Context, set *VecodexSet, child client.Object, component string, desire func(),
) error {
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, child, func() error {
		setLabels(child, set, component)
		desire()
		return controllerutil.SetControllerReference(set, child, r.Scheme())
	})
	return err
}

func (r *reconciler) report(
	ctx context.Context, set *VecodexSet, deployments []*appsv1.Deployment,
) error {
	before := set.DeepCopyObject().(*VecodexSet)
	setStatus(set, deployments)
	if equality.Semantic.DeepEqual(before.Status, set.Status) {
		return nil
	}
	return r.Status().Update(ctx, set)
}

func run(workers int) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	// The default of 20 requests a second would measure the limiter.
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := addToScheme(scheme); err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  scheme,
		Metrics:                 server.Options{BindAddress: "0"},
		Cache:                   cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		LeaderElection:          true,
		LeaderElectionID:        "vecodex-controller-runtime",
		LeaderElectionNamespace: "default",
		// A restarted operator would otherwise wait for its own lease to run out.
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).
		For(&VecodexSet{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Owns(&networkingv1.Ingress{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(&reconciler{Client: manager.GetClient()})
	if err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func main() {
	workers := flag.Int("workers", 16, "reconciles at a time")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseDevMode(false)))
	if err := run(*workers); err != nil {
		ctrl.Log.Error(err, "the operator ended")
		os.Exit(1)
	}
}
