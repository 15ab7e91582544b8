import { TOOL_NAME_PATTERN } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { areMet, isNeeds, isText, type Needs, NEEDS_FAULT, parseMapping, unknownKeyIn } from './yaml-files.ts'

/** How to use one tool well: what its description does not say. */
export interface Guidance {
  /** The name of the file is the name of the tool. */
  readonly tool: string
  readonly notes: readonly GuidanceNote[]
}

export interface GuidanceNote {
  readonly text: string
  /** Other tools that the note names. */
  readonly needs: Needs
}

const MAX_NOTES = 50

/** Returns the guidance in a YAML text, or a description of the fault. */
export async function parseGuidance(tool: string, text: string): Promise<Guidance | string> {
  if (!TOOL_NAME_PATTERN.test(tool)) return 'the name of its file must be the name of a tool'
  const read = await parseMapping(text, ['notes', 'tool', ...Object.keys(LISTS)])
  if (typeof read === 'string') return read
  const { notes: list = [], tool: named = tool } = read
  if (!isText(named) || !TOOL_NAME_PATTERN.test(named)) return '"tool" must be the name of a tool'
  if (!Array.isArray(list)) return '"notes" must be a list'
  const others = Object.entries(LISTS).map(([key, form]) => listed(read[key], key, form))
  const faulty = others.find((each) => typeof each === 'string')
  if (faulty !== undefined) return faulty
  const notes = [...(list as readonly Json[]).map(readNote), ...others.flat() as readonly GuidanceNote[]]
  if (notes.length === 0 || notes.length > MAX_NOTES) return `it must have 1 to ${MAX_NOTES} notes`
  const fault = notes.find((note) => typeof note === 'string')
  return fault ?? { tool: OTHER_NAMES.get(named) ?? named, notes: notes as readonly GuidanceNote[] }
}

/** Lists of strings, as the skills of morphix have them, and what each becomes. */
const LISTS: Readonly<Record<string, (text: string) => string>> = {
  when_to_use: (text) => `Use it: ${text}`,
  when_not_to_use: (text) => `Do not use it: ${text}`,
  examples: (text) => `Example: ${text}`,
  tips: (text) => text,
}

/** Tools of morphix that have another name here. Of those with several actions, the one that the guidance is about. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ['bash_manager', 'bash'], ['file_manager', 'read'], ['git_manager', 'git'], ['lsp_manager', 'lsp'],
  ['code_search', 'grep'], ['diff_editor', 'apply_patch'],
])

/** A list of notes, or a description of the fault. An example may be a mapping. */
function listed(value: Json | undefined, key: string, form: (text: string) => string): readonly GuidanceNote[] | string {
  if (value === undefined) return []
  const entries: readonly Json[] = Array.isArray(value) ? value : [value]
  const texts = entries.map((entry) => isJsonObject(entry) ? JSON.stringify(entry) : entry)
  return texts.every(isText)
    ? texts.map((text) => ({ text: form(text.trim()), needs: [] })) : `"${key}" must be a list of strings that are not empty`
}

function readNote(value: Json): GuidanceNote | string {
  if (isText(value)) return { text: value, needs: [] }
  if (!isJsonObject(value)) return 'a note must be a string, or have "text" and "needs"'
  const unknown = unknownKeyIn(value, ['text', 'needs'])
  if (unknown !== undefined) return `a note is not valid: ${unknown}`
  const { text, needs = [] } = value
  if (!isText(text)) return 'the "text" of a note must be a string that is not empty'
  return isNeeds(needs) ? { text, needs } : NEEDS_FAULT
}

/** The notes that apply to a session with these tools; undefined if there are none. */
export function notesFor({ tool, notes }: Guidance, tools: ReadonlySet<string>): string | undefined {
  if (!tools.has(tool)) return undefined
  const applicable = notes.filter(({ needs }) => areMet(needs, tools)).map(({ text }) => text.trim())
  return applicable.length === 0 ? undefined : applicable.join(' ')
}
