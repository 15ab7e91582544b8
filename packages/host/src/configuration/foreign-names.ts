import { pointerStep, type Diagnostic, type LayerConfig } from '@bulkhead/contract'
import { canonicalToolName } from '@bulkhead/contract/dialects'

/** Where tools are named, by a configuration or by whoever opens a session. */
export type ToolNaming = Pick<LayerConfig, 'layer' | 'location'> & {
  readonly config: Pick<LayerConfig['config'], 'rules' | 'tools' | 'allowlist' | 'roles'>
}

/**
 * Names that other agents have for tools of this host. A model's call under such a name is understood; a rule
 * under it would speak of nothing, and who wrote it believes otherwise. `has`: whether a tool has the name.
 */
export function foreignNames(namings: readonly ToolNaming[], has: (name: string) => boolean): readonly Diagnostic[] {
  return namings.flatMap(({ layer, location, config }) => namesIn(config).flatMap(({ name, path }): readonly Diagnostic[] => {
    const meant = canonicalToolName(name, has)
    if (meant === name) return []
    return [{
      severity: 'warning', stage: 'configSchema', code: 'ConfigInvalid', layer: layer === 'embedder' ? 'bundled' : layer, extensionId: null,
      location, path, message: `No tool is called "${name}" here, so this says nothing of "${meant}", which others call so.`, cure: `Name "${meant}".`,
    }]
  }))
}

interface Named {
  readonly name: string
  readonly path: string
}

function namesIn({ rules = [], tools = {}, allowlist = [], roles = {} }: ToolNaming['config']): readonly Named[] {
  return [
    ...rules.map(({ permission }, index) => ({ name: permission, path: `/rules/${index}/permission` })).filter(({ name }) => !SOURCE.test(name)),
    ...Object.keys(tools).map((name) => ({ name, path: `/tools${pointerStep(name)}` })),
    ...allowlist.map((entry, index) => ({ name: entry.replace(/:.*$/s, ''), path: `/allowlist/${index}` })),
    ...Object.keys(roles).map((flag) => ({ name: flag.replace(/^allow_/, ''), path: `/roles${pointerStep(flag)}` })),
  ]
}

/** A rule may name a tool of a server by where it comes from. */
const SOURCE = /^(?:mcp|openapi):[^:]+:/
