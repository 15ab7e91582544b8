import { pointerStep, visibleText, type Diagnostic, type LayerConfig } from '@bulkhead/contract'
import { canonicalToolName } from '@bulkhead/contract/dialects'
import { writtenPlace } from './written-place.ts'

/** Where tools are named, by a configuration or by whoever opens a session. */
export type ToolNaming = Pick<LayerConfig, 'layer' | 'location' | 'omitted'> & {
  readonly config: Pick<LayerConfig['config'], 'rules' | 'tools' | 'allowlist' | 'roles'>
  /** All that is offered. */
  readonly offered?: readonly string[] | undefined
}

/**
 * Names that other agents have for tools of this host. A model's call under such a name is understood; a rule
 * under it would speak of nothing, and who wrote it believes otherwise. A rule may also speak of a tool that comes one day; who is
 * to be offered one that is not there is told. `has`: whether a tool has the name.
 */
export function foreignNames(namings: readonly ToolNaming[], has: (name: string) => boolean): readonly Diagnostic[] {
  return namings.flatMap((naming) => {
    const { layer, location, offered = [] } = naming
    const warn = (path: string, message: string, cure: string): Diagnostic => ({
      severity: 'warning', stage: 'configSchema', code: 'ConfigInvalid', layer: layer === 'embedder' ? 'bundled' : layer, extensionId: null,
      location, path, message, cure,
    })
    const foreign = ({ name, path }: Named): readonly Diagnostic[] => {
      const meant = canonicalToolName(name, has)
      return meant === name ? [] : [warn(path, `No tool is called "${name}" here, so this says nothing of "${meant}", which others call so.`, `Name "${meant}".`)]
    }
    const absent = (name: string, index: number): readonly Diagnostic[] => {
      const meant = canonicalToolName(name, has)
      const cure = meant === name ? 'Name it as `host.tools()` does.' : `Name "${meant}".`
      return has(name) ? [] : [warn(`/tools/${index}`, `No tool is called "${visibleText(name)}" here, so the session is offered none for it.`, cure)]
    }
    return [...namesIn(naming).flatMap(foreign), ...offered.flatMap(absent)]
  })
}

interface Named {
  readonly name: string
  readonly path: string
}

function namesIn(naming: ToolNaming): readonly Named[] {
  const { rules = [], tools = {}, allowlist = [], roles = {} } = naming.config
  return [
    ...rules.map(({ permission }, index) => ({ name: permission, path: `${writtenPlace(naming, '/rules', index)}/permission` })).filter(({ name }) => !SOURCE.test(name)),
    ...Object.keys(tools).map((name) => ({ name, path: `/tools${pointerStep(name)}` })),
    ...allowlist.map((entry, index) => ({ name: entry.replace(/:.*$/s, ''), path: writtenPlace(naming, '/allowlist', index) })),
    ...Object.keys(roles).map((flag) => ({ name: flag.replace(/^allow_/, ''), path: `/roles${pointerStep(flag)}` })),
  ]
}

/** A rule may name a tool of a server by where it comes from. */
const SOURCE = /^(?:mcp|openapi):[^:]+:/
