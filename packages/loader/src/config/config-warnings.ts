import type { ConfigFile, LayerConfig } from '@bulkhead/contract'
import type { Fault } from '../model/result.ts'

export interface ConfigWarning {
  readonly source: LayerConfig
  readonly fault: Fault
}

/** What is well formed and yet deserves a look, each at the file that says it. */
export function configWarnings(layers: readonly LayerConfig[]): readonly ConfigWarning[] {
  return layers.flatMap((source) =>
    allowlistWithoutMode(source.config, layers).map((fault) => ({ source, fault })))
}

/** Entries that nothing will ever consult look like a protection or a permission, and are neither. */
function allowlistWithoutMode(config: ConfigFile, layers: readonly LayerConfig[]): Fault[] {
  if ((config.allowlist?.length ?? 0) === 0 || layers.some((layer) => layer.config.mode === 'allowlist')) return []
  const message = 'The allowlist has entries and no layer sets the mode to allowlist.'
  return [{ stage: 'configSchema', code: 'AllowlistWithoutMode', path: '/allowlist', message }]
}
