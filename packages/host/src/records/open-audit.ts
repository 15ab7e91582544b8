import type { BulkheadEvent, ConfigFile, Manifest, Store } from '@bulkhead/contract'
import type { EventBus } from './events.ts'
import { KEPT } from './audit-forms.ts'
import { AuditTrail } from './audit-trail.ts'
import { createRedaction, isSecretName, type Redaction } from './redaction.ts'

interface Registered {
  readonly descriptor: { readonly manifest: Pick<Manifest, 'env' | 'secrets'> }
}

export interface AuditSources {
  readonly config: ConfigFile['audit']
  readonly store: Store
  readonly events: EventBus
  readonly env: (name: string) => string | undefined
  /** What is registered now: another list after each change. */
  readonly registered: () => readonly Registered[]
}

/**
 * The audit of a host, listening. Undefined if it is disabled, or not configured while nothing would outlive the host. One that
 * is required is never switched off, and a store that forgets cannot be it.
 */
export function openAudit({ config, store, events, env, registered }: AuditSources): AuditTrail | undefined {
  if (config?.require ? store.forgets === true : !(config?.enabled ?? store.forgets !== true)) return undefined
  const trail = new AuditTrail({
    store,
    redaction: secretsOf(registered, env),
    keepArguments: config?.arguments === true,
    failed: (error) => events.suppressed('audit', error),
  })
  events.on((event) => {
    if (!isOfNoLife(event)) trail.hear(event)
  }, KEPT)
  return trail
}

/** An extension that was never called ends with its host without having run. That is not recorded. */
const isOfNoLife = (event: BulkheadEvent): boolean =>
  event.type === 'LifecycleStateChanged' && event.from === 'validated' && event.to === 'disposed'

/** Knows the secrets of everything that is, or ever was, registered. Looks again only after that has changed. */
function secretsOf(registered: AuditSources['registered'], env: AuditSources['env']): () => Redaction {
  const known = new Set<string>()
  let redaction = createRedaction(known)
  let seen: readonly Registered[] | undefined
  return () => {
    const now = registered()
    if (now === seen) return redaction
    seen = now
    // A token that is handed over as a plain variable is no less one.
    const names = now.flatMap(({ descriptor: { manifest: { env: variables, secrets } } }) =>
      [...variables.filter(isSecretName), ...secrets.map(({ name }) => name)])
    for (const name of names) known.add(env(name) ?? '')
    redaction = createRedaction(known)
    return redaction
  }
}
