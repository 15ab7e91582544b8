import type { ConfigFile, LayerConfig } from '@bulkhead/contract'
import type { Fault } from '../result.ts'

export interface ConfigWarning {
  readonly source: LayerConfig
  readonly fault: Fault
}

/** What is well formed and yet deserves a look, each at the file that says it. */
export function configWarnings(layers: readonly LayerConfig[]): readonly ConfigWarning[] {
  return layers.flatMap((source) =>
    [...allowlistWithoutMode(source.config, layers), ...withoutBridge(source.config)].map((fault) => ({ source, fault })))
}

/** Named in the contract, and read by no part of this host: whoever waits for such tools is told why they do not come. */
function withoutBridge(config: ConfigFile): Fault[] {
  if (Object.keys(config.openapi ?? {}).length === 0) return []
  return [{
    stage: 'configSchema', code: 'ConfigInvalid', path: '/openapi',
    message: 'This host has no bridge for "openapi": what is named there offers no tools.', cure: 'Remove it, or use a host that has the bridge.',
  }]
}

/** Entries that nothing will ever consult look like a protection or a permission, and are neither. */
function allowlistWithoutMode(config: ConfigFile, layers: readonly LayerConfig[]): Fault[] {
  if ((config.allowlist?.length ?? 0) === 0 || layers.some((layer) => layer.config.mode === 'allowlist')) return []
  const message = 'The allowlist has entries and no layer sets the mode to allowlist.'
  return [{ stage: 'configSchema', code: 'AllowlistWithoutMode', path: '/allowlist', message }]
}
