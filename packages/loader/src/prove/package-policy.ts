import type { ConfigFile, Layer, ResolvedConfig } from '@bulkhead/contract'
import type { Outline } from '../describe/extension.ts'
import { scopeOfPart } from '../discover/layer-sources.ts'
import { lockOf, npmScopeOf, type LayerLock, type LayerLocks } from '../lock/lock-file.ts'
import type { LoaderLimits } from '../model/limits.ts'
import type { Yielder } from '../model/yielder.ts'
import type { SchemaChecker } from '../schema/schema-checker.ts'
import type { PackageSignatures } from '../signature/package-signatures.ts'
import type { IdentityPin } from '../signature/signer.ts'

type Policy = NonNullable<ConfigFile['policy']>
type Level = 'require' | 'warn' | 'off'

/** What the stages check an extension against. */
export interface ProofContext {
  readonly coreVersion: string
  readonly config: ResolvedConfig
  readonly limits: LoaderLimits
  readonly schemas: SchemaChecker
  readonly signatures: PackageSignatures
  readonly locks: LayerLocks
  readonly yielder: Yielder
}

/** What one package must prove. An undefined level is not configured. */
export interface PackagePolicy {
  readonly integrity: Level | undefined
  readonly signature: Level | undefined
  readonly lock: Level
  readonly widening: NonNullable<NonNullable<Policy['update']>['widening']>
  readonly pin: IdentityPin | undefined
}

/** The narrowest setting applies: the id, its longest configured prefix, the npm scope, the layer. */
export function packagePolicy(
  { config, locks }: { readonly config: ResolvedConfig; readonly locks: LayerLocks },
  { layer, part, outline: { id } }: { readonly layer: Layer; readonly part: string; readonly outline: Pick<Outline, 'id'> },
): PackagePolicy {
  const policy: Policy = config.merged.policy ?? {}
  const lock = lockOf(locks, layer)
  const npmScope = (): string | undefined => scopeOfPart(part) ?? npmScopeOf(lock, id)
  const scopes = narrowestFirst(policy.scopes, id, npmScope)
  return {
    integrity: layer === 'bundled' ? 'require'
      : scopes.find((scope) => scope.integrity !== undefined)?.integrity ?? policy.integrity?.[layer],
    signature: scopes.find((scope) => scope.signature !== undefined)?.signature ?? policy.signature?.[layer],
    lock: scopes.find((scope) => scope.lock !== undefined)?.lock
      ?? (layer === 'bundled' ? 'off' : policy.lock?.[layer] ?? defaultLockLevel(layer, lock)),
    widening: scopes.find((scope) => scope.widening !== undefined)?.widening ?? policy.update?.widening ?? 'major',
    pin: narrowestFirst(policy.identities, id, npmScope)[0],
  }
}

/** A project with a lock enforces it. A project without one was trusted as a whole. */
const defaultLockLevel = (layer: Layer, lock: LayerLock): Level =>
  layer === 'global' ? 'warn' : lock.kind === 'none' ? 'off' : 'require'

function narrowestFirst<T>(record: Readonly<Record<string, T>> | undefined, id: string, npmScope: () => string | undefined): readonly T[] {
  if (record === undefined) return []
  const scope = npmScope()
  const rank = (key: string): number => {
    if (key === id) return Number.MAX_SAFE_INTEGER
    if (key.endsWith('*') && id.startsWith(key.slice(0, -1))) return key.length
    return key === scope ? 0 : -1
  }
  return Object.entries(record).map(([key, value]) => ({ at: rank(key), value }))
    .filter(({ at }) => at >= 0).toSorted((left, right) => right.at - left.at).map(({ value }) => value)
}
