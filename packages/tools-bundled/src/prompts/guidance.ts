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
  const read = await parseMapping(text, ['notes'])
  if (typeof read === 'string') return read
  const { notes: list } = read
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_NOTES) {
    return `"notes" must be a list of 1 to ${MAX_NOTES} notes`
  }
  const notes = (list as readonly Json[]).map(readNote)
  const fault = notes.find((note) => typeof note === 'string')
  return fault ?? { tool, notes: notes as readonly GuidanceNote[] }
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
