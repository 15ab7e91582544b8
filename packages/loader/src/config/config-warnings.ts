import type { ConfigFile, LayerConfig } from '@bulkhead/contract'
import type { Fault } from '../result.ts'

export interface ConfigWarning {
  readonly source: LayerConfig
  readonly fault: Fault
}

/** What is well formed and yet deserves a look, each at the file that says it. */
export function configWarnings(layers: readonly LayerConfig[]): readonly ConfigWarning[] {
  return layers.flatMap((source) => [...unread(source.config), ...allowlistWithoutMode(source.config, layers)]
    .map((fault) => ({ source, fault })))
}

/** Entries that nothing will ever consult look like a protection or a permission, and are neither. */
function allowlistWithoutMode(config: ConfigFile, layers: readonly LayerConfig[]): Fault[] {
  if ((config.allowlist?.length ?? 0) === 0 || layers.some((layer) => layer.config.mode === 'allowlist')) return []
  const message = 'The allowlist has entries and no layer sets the mode to allowlist.'
  return [{ stage: 'configSchema', code: 'AllowlistWithoutMode', path: '/allowlist', message }]
}

/** Keys of the format that this loader does not act on. Silence would look like consent. */
function unread(config: ConfigFile): Fault[] {
  const keys = [...((config.packages?.length ?? 0) > 0 ? ['/packages'] : [])]
  return keys.map((path) => ({
    stage: 'configSchema', code: 'ConfigInvalid', path,
    message: `${path} is not acted on by this version of Bulkhead.`,
    cure: 'Remove the key, or use a version that has it.',
  }))
}
