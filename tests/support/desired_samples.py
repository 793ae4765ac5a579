"""Objects as operators desire them: for each kind a plain one, and a rich one to borrow from."""

from typing import Any, NamedTuple

import yaml

Object = dict[str, Any]


class Sample(NamedTuple):
    plain: Object
    rich: Object


def sample(plain: str, rich: str) -> Sample:
    return Sample(yaml.safe_load(plain), yaml.safe_load(rich))


_PLAIN_POD = """
metadata:
  labels: {app: web, tier: front}
  annotations: {checksum: abc}
spec:
  serviceAccountName: web
  containers:
  - name: web
    image: registry.test/web:1.2
    args: [serve, --port, "8080"]
    env:
    - {name: MODE, value: fast}
    - {name: LEVEL, value: info}
    - name: POD
      valueFrom: {fieldRef: {fieldPath: metadata.name}}
    - name: TOKEN
      valueFrom: {secretKeyRef: {name: web, key: token}}
    ports:
    - {name: http, containerPort: 8080}
    - {name: dns, containerPort: 53, protocol: UDP}
    resources:
      requests: {cpu: 500m, memory: 1Gi}
      limits: {cpu: "2", memory: 2Gi}
    readinessProbe:
      httpGet: {path: /ready, port: http}
      periodSeconds: 5
    volumeMounts:
    - {name: data, mountPath: /data}
    - {name: settings, mountPath: /etc/web, readOnly: true}
    securityContext:
      allowPrivilegeEscalation: false
      capabilities: {drop: [ALL]}
  volumes:
  - {name: settings, configMap: {name: web}}
  - {name: data, emptyDir: {}}
"""

_RICH_POD = """
metadata:
  labels: {app: web, tier: front, extra: "yes"}
  annotations: {checksum: def, note: ""}
spec:
  serviceAccountName: other
  automountServiceAccountToken: false
  priorityClassName: system-cluster-critical
  nodeSelector: {disk: ssd, zone: a}
  terminationGracePeriodSeconds: 60
  hostNetwork: false
  imagePullSecrets: [{name: pull}, {name: second}]
  securityContext:
    fsGroup: 1000
    runAsUser: 0
    runAsNonRoot: false
    supplementalGroups: [1, 2]
    seccompProfile: {type: RuntimeDefault}
  tolerations:
  - {key: gpu, operator: Exists, effect: NoSchedule}
  - {key: slow, value: "1", effect: NoExecute, tolerationSeconds: 0}
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web}}
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 5
        podAffinityTerm:
          topologyKey: host
          labelSelector:
            matchExpressions: [{key: app, operator: In, values: [web, api]}]
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: gpu, operator: Exists}]
  initContainers:
  - name: prepare
    image: busybox:1.36
    command: [sh, -c, "true"]
    resources: {requests: {cpu: 10m}}
  containers:
  - name: web
    image: registry.test/web:1.3
    imagePullPolicy: Always
    command: [/web]
    args: [serve]
    tty: false
    workingDir: ""
    env:
    - {name: MODE, value: slow}
    - {name: EMPTY, value: ""}
    - name: CPUS
      valueFrom: {resourceFieldRef: {resource: limits.cpu}}
    - name: SETTING
      valueFrom: {configMapKeyRef: {name: web, key: setting, optional: true}}
    envFrom:
    - {configMapRef: {name: web}}
    - {prefix: S_, secretRef: {name: web, optional: false}}
    ports:
    - {name: http, containerPort: 8080, protocol: TCP}
    - {name: metrics, containerPort: 9090}
    resources:
      requests: {cpu: "0.5", memory: 1024Mi, ephemeral-storage: 0.1Gi}
      limits: {memory: "2147483648"}
    livenessProbe:
      exec: {command: ["true"]}
      initialDelaySeconds: 0
      timeoutSeconds: 3
    startupProbe:
      tcpSocket: {port: 8080}
      failureThreshold: 30
    lifecycle:
      preStop: {httpGet: {port: 8080, httpHeaders: [{name: X, value: "1"}]}}
    volumeMounts:
    - {name: data, mountPath: /data, subPath: web, readOnly: false}
    - {name: tokens, mountPath: /tokens}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      privileged: false
      capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}
  - name: side
    image: registry.test/side:1
    resources: {}
  volumes:
  - name: settings
    configMap: {name: web, defaultMode: 256, items: [{key: a, path: a}]}
  - {name: data, emptyDir: {sizeLimit: 1.5Gi, medium: ""}}
  - name: tokens
    projected:
      sources:
      - serviceAccountToken: {path: token, audience: ""}
      - downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}
      - configMap: {name: web, items: [{key: a, path: a, mode: 0}]}
  - {name: secret, secret: {secretName: web}}
"""


def _indented(text: str, by: int) -> str:
    return text.strip("\n").replace("\n", "\n" + " " * by)


DEPLOYMENT = sample(
    f"""
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {{app: web}}
  annotations: {{team: search}}
  ownerReferences:
  - {{apiVersion: v1, kind: ConfigMap, name: owner, uid: 11-22, controller: true}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: web}}}}
  strategy: {{rollingUpdate: {{maxSurge: 1, maxUnavailable: 0}}}}
  template:
    {_indented(_PLAIN_POD, 4)}
""",
    f"""
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {{app: web, extra: ""}}
  annotations: {{team: search, note: hello}}
  finalizers: [quiver.dev/one, quiver.dev/two]
spec:
  replicas: 0
  minReadySeconds: 5
  paused: false
  revisionHistoryLimit: 0
  progressDeadlineSeconds: 900
  selector: {{matchLabels: {{app: web}}}}
  strategy: {{type: RollingUpdate, rollingUpdate: {{maxSurge: 25%}}}}
  template:
    {_indented(_RICH_POD, 4)}
""",
)

STATEFUL_SET = sample(
    f"""
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: db, labels: {{app: web}}}}
spec:
  replicas: 3
  serviceName: db
  podManagementPolicy: Parallel
  selector: {{matchLabels: {{app: web}}}}
  updateStrategy: {{type: OnDelete}}
  template:
    {_indented(_PLAIN_POD, 4)}
  volumeClaimTemplates:
  - metadata: {{name: data, labels: {{app: web}}}}
    spec:
      accessModes: [ReadWriteOnce]
      storageClassName: fast
      resources: {{requests: {{storage: 10Gi}}}}
""",
    f"""
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: db, labels: {{app: web, extra: "yes"}}}}
spec:
  replicas: 1
  serviceName: db
  minReadySeconds: 0
  podManagementPolicy: Parallel
  persistentVolumeClaimRetentionPolicy: {{whenDeleted: Delete}}
  ordinals: {{start: 0}}
  selector: {{matchLabels: {{app: web}}}}
  updateStrategy: {{type: RollingUpdate, rollingUpdate: {{partition: 0}}}}
  template:
    {_indented(_RICH_POD, 4)}
  volumeClaimTemplates:
  - apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {{name: data, labels: {{app: web}}}}
    spec:
      accessModes: [ReadWriteOnce]
      storageClassName: fast
      volumeMode: Filesystem
      resources: {{requests: {{storage: 10240Mi}}}}
""",
)

SERVICE = sample(
    """
apiVersion: v1
kind: Service
metadata: {name: web, labels: {app: web}}
spec:
  selector: {app: web}
  ports:
  - {name: http, port: 80, targetPort: http}
  - {name: dns, port: 53, protocol: UDP}
  - {name: dns-tcp, port: 53, protocol: TCP}
""",
    """
apiVersion: v1
kind: Service
metadata: {name: web, labels: {app: web}, annotations: {lb: internal}}
spec:
  type: NodePort
  selector: {app: web, tier: front}
  publishNotReadyAddresses: false
  sessionAffinity: ClientIP
  externalTrafficPolicy: Local
  internalTrafficPolicy: Local
  ipFamilyPolicy: SingleStack
  externalIPs: [10.1.1.1, 10.1.1.2]
  loadBalancerSourceRanges: []
  ports:
  - {name: http, port: 80, targetPort: 8080, appProtocol: http}
  - {name: grpc, port: 50051}
""",
)

INGRESS = sample(
    """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, annotations: {size: 8m}}
spec:
  ingressClassName: nginx
  tls: [{hosts: [web.test], secretName: web}]
  rules:
  - host: web.test
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
      - {path: /api, pathType: Exact, backend: {service: {name: api, port: {name: http}}}}
""",
    """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, labels: {app: web}}
spec:
  ingressClassName: other
  defaultBackend: {service: {name: web, port: {name: http}}}
  tls: [{hosts: [web.test, two.test]}]
  rules:
  - host: two.test
    http:
      paths:
      - path: /
        pathType: ImplementationSpecific
        backend: {service: {name: web, port: {number: 81}}}
  - http:
      paths:
      - pathType: Prefix
        path: /x
        backend: {resource: {apiGroup: x.test, kind: Bucket, name: b}}
""",
)

CONFIG_MAP = sample(
    """
apiVersion: v1
kind: ConfigMap
metadata: {name: web, labels: {app: web}}
data: {a: one, b: "", web.conf: "x: 1\\n"}
""",
    """
apiVersion: v1
kind: ConfigMap
metadata: {name: web, labels: {app: web, extra: ""}}
immutable: false
data: {a: two, c: three}
binaryData: {d: AAEC}
""",
)

SECRET = sample(
    """
apiVersion: v1
kind: Secret
metadata: {name: web}
data: {token: c2VjcmV0, empty: ""}
stringData: {password: hunter2}
""",
    """
apiVersion: v1
kind: Secret
metadata: {name: web, labels: {app: web}}
type: Opaque
immutable: false
data: {token: b3RoZXI=}
stringData: {token: other, user: me}
""",
)

AUTOSCALER = sample(
    """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 10
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}
  - type: Resource
    resource: {name: memory, target: {type: AverageValue, averageValue: 1.5Gi}}
""",
    """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, labels: {app: web}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}
  minReplicas: 1
  maxReplicas: 5
  behavior:
    scaleDown:
      stabilizationWindowSeconds: 0
      policies: [{type: Pods, value: 1, periodSeconds: 60}]
    scaleUp: {selectPolicy: Min}
  metrics:
  - type: Pods
    pods:
      metric: {name: queries, selector: {matchLabels: {app: web}}}
      target: {type: AverageValue, averageValue: 100m}
  - type: ContainerResource
    containerResource:
      {name: cpu, container: web, target: {type: AverageValue, averageValue: "0.5"}}
""",
)

DISRUPTION_BUDGET = sample(
    """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
""",
    """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, labels: {app: web}}
spec:
  minAvailable: 50%
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector: {matchExpressions: [{key: app, operator: In, values: [web]}]}
""",
)

NETWORK_POLICY = sample(
    """
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec:
  podSelector: {matchLabels: {app: web}}
  policyTypes: [Ingress, Egress]
  ingress:
  - from: [{podSelector: {matchLabels: {app: api}}}, {namespaceSelector: {}}]
    ports: [{port: 8080}, {port: 53, protocol: UDP}]
  egress: [{}]
""",
    """
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web, labels: {app: web}}
spec:
  podSelector: {}
  policyTypes: [Ingress]
  ingress:
  - from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]
    ports: [{port: http}, {port: 1000, endPort: 2000}]
  - {}
  egress: []
""",
)

SERVICE_ACCOUNT = sample(
    """
apiVersion: v1
kind: ServiceAccount
metadata: {name: web, annotations: {role: reader}}
automountServiceAccountToken: false
imagePullSecrets: [{name: pull}]
""",
    """
apiVersion: v1
kind: ServiceAccount
metadata: {name: web, labels: {app: web}}
automountServiceAccountToken: true
secrets: [{name: one}]
imagePullSecrets: [{name: other}, {name: pull}]
""",
)

ROLE = sample(
    """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web}
rules:
- {apiGroups: [""], resources: [pods, services], verbs: [get, list]}
- {apiGroups: [apps], resources: [deployments], verbs: ["*"], resourceNames: [web]}
""",
    """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web, labels: {app: web}}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get], resourceNames: []}
""",
)

ROLE_BINDING = sample(
    """
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web}
roleRef: {kind: Role, name: web}
subjects:
- {kind: ServiceAccount, name: web, namespace: default}
- {kind: User, name: ann}
""",
    """
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web, labels: {app: web}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}
subjects:
- {kind: Group, name: all, apiGroup: rbac.authorization.k8s.io}
- {kind: ServiceAccount, name: web, namespace: default, apiGroup: ""}
""",
)

SAMPLES = (
    DEPLOYMENT,
    STATEFUL_SET,
    SERVICE,
    INGRESS,
    CONFIG_MAP,
    SECRET,
    AUTOSCALER,
    DISRUPTION_BUDGET,
    NETWORK_POLICY,
    SERVICE_ACCOUNT,
    ROLE,
    ROLE_BINDING,
)

# Not drifted, only applied: what the server fills in must not look like drift.
MORE: list[Object] = list(
    yaml.safe_load_all(f"""
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: agent}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  updateStrategy: {{rollingUpdate: {{maxUnavailable: 10%}}}}
  template:
    {_indented(_RICH_POD, 4)}
---
apiVersion: batch/v1
kind: Job
metadata: {{name: once}}
spec:
  backoffLimit: 0
  podFailurePolicy:
    rules:
    - {{action: Ignore, onPodConditions: [{{type: DisruptionTarget}}]}}
    - {{action: FailJob, onExitCodes: {{operator: In, values: [3, 7]}}}}
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: it, image: busybox, resources: {{requests: {{cpu: 0.0005}}}}}}]
---
apiVersion: batch/v1
kind: CronJob
metadata: {{name: nightly}}
spec:
  schedule: 0 3 * * *
  suspend: false
  startingDeadlineSeconds: 0
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: OnFailure
          containers: [{{name: it, image: busybox}}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: data}}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: ""
  dataSource: {{apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: old}}
  resources: {{requests: {{storage: 0.5Ti}}}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {{name: all}}
spec: {{hard: {{requests.cpu: 1500m, pods: 10}}, scopes: []}}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {{name: us}}
spec: {{holderIdentity: "", leaseDurationSeconds: 9, renewTime: "2026-01-01T01:00:00.500000+01:00"}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: web}}
addressType: IPv4
endpoints: [{{addresses: [10.1.1.1], conditions: {{ready: false}}}}]
ports: [{{port: 80}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: compare-reader}}
rules: [{{nonResourceURLs: [/metrics], verbs: [get]}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: compare-reader}}
roleRef: {{kind: ClusterRole, name: compare-reader}}
subjects: [{{kind: Group, name: readers}}]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {{name: compare-fast}}
provisioner: disk.test
allowVolumeExpansion: false
mountOptions: []
parameters: {{type: ssd}}
allowedTopologies: [{{matchLabelExpressions: [{{key: zone, values: [a]}}]}}]
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {{name: compare-low}}
value: 0
globalDefault: false
description: ""
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {{name: compare}}
spec: {{controller: a.test/b, parameters: {{kind: Params, name: p}}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {{name: compare}}
webhooks:
- name: a.compare.test
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {{service: {{name: web, namespace: default, path: /check}}, caBundle: ""}}
  rules: [{{operations: [CREATE], apiGroups: [compare.test], apiVersions: [v1], resources: [x]}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: compare}}
spec:
  matchConstraints:
    resourceRules:
    - {{operations: [UPDATE], apiGroups: [compare.test], apiVersions: [v1], resources: [x]}}
  validations: [{{expression: "true"}}]
  variables: [{{name: a, expression: "1"}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: compare}}
spec: {{policyName: compare, validationActions: [Deny, Audit]}}
""")
)
