import { configFileSchema, LAYERS, visibleText, type ConfigFile, type Json, type JsonObject } from '@bulkhead/contract'
import { placeIssues, pointerOf } from '../json/schema-issues.ts'
import type { Fault } from '../result.ts'

type Steps = readonly (string | number)[]

/**
 * How far down a part can be left out by itself. A rule is one part: without its pattern it would allow more. Of an
 * extension's entry each key stands alone: `enabled: false` must survive a wrong limit beside it.
 */
const PART_DEPTH: ReadonlyMap<string | number, number> = new Map([
  ['allowlist', 2], ['rules', 2], ['roles', 2], ['packages', 2], ['mcp', 2], ['openapi', 2], ['tools', 3], ['extensions', 4], ['policy', 3],
  ['isolation', 2], ['limits', 2], ['search', 2], ['skills', 2], ['budget', 2], ['audit', 2],
])
/** What stands in for a bound that cannot be read: the strictest there is. Leaving it out would lift it. */
const STAND_INS: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['/policy/ceiling', {}],
  ...['/policy/integrity', '/policy/signature'].flatMap((policy) => [
    [policy, { global: 'require', project: 'require' }] as const,
    ...LAYERS.map((layer) => [`${policy}/${layer}`, 'require'] as const),
  ]),
])

export interface ValidConfig {
  readonly config: ConfigFile
  readonly faults: readonly Fault[]
}

/** Reports each unknown key and wrong value, and keeps everything else. */
export function validateConfig(written: JsonObject): ValidConfig {
  const first = configFileSchema.safeParse(written)
  if (first.success) return { config: first.data, faults: [] }
  const issues = placeIssues(first.error.issues)
  const faults = issues.map(({ steps, message }): Fault => ({
    stage: 'configSchema', code: 'ConfigInvalid', path: pointerOf(steps), message: `${visibleText(pointerOf(steps)) || 'The configuration'} ${message}.`,
  }))
  const remaining = configFileSchema.safeParse(without(written, issues.map(({ steps }) => partOf(steps))))
  if (remaining.success) return { config: remaining.data, faults }
  // Leaving parts out has brought up another fault; then nothing of it can be relied on.
  return { config: {}, faults: [...faults, { stage: 'configSchema', code: 'ConfigInvalid', path: '', message: 'What remains is not valid either.' }] }
}

function partOf(steps: Steps): Steps {
  // A ceiling is one part: half of it would be another ceiling.
  if (pointerOf(steps.slice(0, 2)) === '/policy/ceiling') return steps.slice(0, 2)
  return steps.slice(0, PART_DEPTH.get(steps[0] ?? '') ?? 1)
}

function without(written: JsonObject, parts: readonly Steps[]): Json {
  const pointers = new Set(parts.map(pointerOf))
  const copy = (value: Json, pointer: string): Json => {
    const kept = (step: string | number): boolean => !pointers.has(pointer + pointerOf([step])) || STAND_INS.has(pointer + pointerOf([step]))
    const member = (child: Json, step: string | number): Json => {
      const at = pointer + pointerOf([step])
      return pointers.has(at) ? STAND_INS.get(at)! : copy(child, at)
    }
    if (Array.isArray(value)) return (value as readonly Json[]).flatMap((child, index) => kept(index) ? [member(child, index)] : [])
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value as JsonObject).flatMap(([key, child]) => kept(key) ? [[key, member(child, key)]] : []))
  }
  return copy(written, '')
}
