import { isBundledTool } from '@bulkhead/contract'
import { canonicalCall } from '@bulkhead/contract/dialects'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { isText } from './yaml-files.ts'

/** The keys of a kit of morphix besides its description. `tool_kit` repeats the name of the file. */
export const STEP_KEYS = ['tool_kit', 'goal', 'steps'] as const

const MAX_STEPS = 50
const KEYS: ReadonlySet<string> = new Set(['order', 'tool', 'action', 'params', 'note'])

/** The steps as text, and the tools that they name, by our names. Or a description of the fault. */
export function readSteps(value: Json): { readonly text: string; readonly tools: readonly string[] } | string {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_STEPS) {
    return `"steps" must be a list of 1 to ${MAX_STEPS} steps`
  }
  const steps = (value as readonly Json[])
  if (!steps.every((step) => isText(step) || isStep(step))) return STEP_FORM
  const ordered = steps.toSorted((a, b) => orderOf(a) - orderOf(b))
  const tools = ordered.flatMap((step) => isJsonObject(step) && isText(step['tool']) ? toolOf(step) : [])
  return {
    text: ordered.map((step, index) => `${index + 1}. ${isJsonObject(step) ? stepText(step) : String(step).trim()}`).join('\n'),
    tools: [...new Set(tools)],
  }
}

const STEP_FORM = 'a step must be a string, or have "note", "tool" or "action", and may have "order" and "params"'

function isStep(step: Json): boolean {
  if (!isJsonObject(step) || !Object.keys(step).every((key) => KEYS.has(key))) return false
  const { order = 0, tool, action, note } = step
  const texts = [tool, action, note].filter((one) => one !== undefined)
  return typeof order === 'number' && texts.length > 0 && texts.every(isText)
}

/** Steps without an order keep their place, before the others. */
const orderOf = (step: Json): number => isJsonObject(step) && typeof step['order'] === 'number' ? step['order'] : 0

/** `file_manager` with the action `read` is `read`. */
const toolOf = ({ tool, action }: JsonObject): string => canonicalCall(
  { name: String(tool), arguments: action === undefined ? {} : { action } },
  (name) => isBundledTool(name) ? { inputSchema: {} } : undefined,
).name

function stepText(step: JsonObject): string {
  const { tool, action, params, note } = step
  const named = tool === undefined ? action : `${String(action ?? 'use')}, with \`${toolOf(step)}\``
  const given = isJsonObject(params) ? ` ${JSON.stringify(params)}` : ''
  return [named === undefined ? '' : `${String(named)}${given}`, String(note ?? '').trim()].filter((part) => part !== '').join(': ')
}
