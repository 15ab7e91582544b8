import { randomUUID } from 'node:crypto'
import { type AgentDescriptor, type Diagnostic, requireOptions } from '@bulkhead/contract'
import type { Session } from '@bulkhead/host'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import {
  composeSections, type Described, type PromptSections, readGuidance, readKits,
} from '@bulkhead/tools-bundled'
import { guidanceFolder, kitFolder } from './folders.ts'

export interface PromptSectionsOptions {
  /** The most characters of text in all sections. Default: 16,000, about 4,000 tokens. */
  readonly maxChars?: number
}

type PromptedSession = Pick<Session, 'tools' | 'deniedAlways' | 'call' | 'explain'>

const OPTIONS: OptionForms<PromptSectionsOptions> = { maxChars: forms.above(0) }
const SESSION = { session: forms.having('tools', 'deniedAlways', 'call', 'explain') }
/** No skill can have this name, so the tool answers with its list. */
const NO_SKILL = '*'

/** Composes what the model of a session should know about its tools. */
export class SessionPrompts {
  readonly #home: string
  readonly #agents: () => readonly AgentDescriptor[]
  /** The tool looks for skills once in a session. */
  readonly #skills = new WeakMap<PromptedSession, readonly Described[]>()
  #diagnostics: readonly Diagnostic[] = []

  constructor(home: string, agents: () => readonly AgentDescriptor[]) {
    this.#home = home
    this.#agents = agents
  }

  /** The files that the last `sections` left out. */
  get diagnostics(): readonly Diagnostic[] {
    return this.#diagnostics
  }

  /** Reads the files of the user each time, so that changes count from the next turn. */
  async sections(session: PromptedSession, options: PromptSectionsOptions = {}): Promise<PromptSections> {
    requireOptions('promptSections', { session }, SESSION, 'session')
    requireOptions('promptSections', options, OPTIONS)
    const faults: Diagnostic[] = []
    const reader = { report: (fault: string, location: string) => void faults.push(malformed(fault, location)) }
    const tools = new Set(session.tools().map(({ name }) => name).filter((name) => !session.deniedAlways(name)))
    const [guidance, kits, skills] = await Promise.all([
      readGuidance(guidanceFolder(this.#home), reader), readKits(kitFolder(this.#home), reader),
      tools.has('skill') ? this.#skillsOf(session) : [],
    ])
    this.#diagnostics = faults
    const agents = this.#agents().flatMap(({ name, manifest }) =>
      manifest ? [{ name, description: manifest.description ?? firstLine(manifest.prompt ?? '') }] : [])
    return composeSections({ tools, guidance, kits, skills, agents }, options.maxChars)
  }

  /** With the tool, so that policy, budget, limits and audit apply. Asks no person. */
  async #skillsOf(session: PromptedSession): Promise<readonly Described[]> {
    const known = this.#skills.get(session)
    if (known) return known
    const call = { id: `prompt-${randomUUID()}`, name: 'skill', arguments: { name: NO_SKILL } }
    if ((await session.explain(call)).decision !== 'allow') return []
    const outcome = await session.call(call)
    const data = outcome.type === 'error' ? outcome.error.data : undefined
    if (!isJsonObject(data) || !Array.isArray(data['skills'])) return []
    const skills = (data['skills'] as readonly Json[]).filter(isDescribed)
    this.#skills.set(session, skills)
    return skills
  }
}

/** In place of a description. */
const firstLine = (prompt: string): string => prompt.trim().split('\n', 1)[0]!

const isDescribed = (value: Json): value is Json & Described =>
  isJsonObject(value) && typeof value['name'] === 'string' && typeof value['description'] === 'string'

const malformed = (message: string, location: string): Diagnostic => ({
  severity: 'warning', stage: 'read', code: 'ConfigInvalid', layer: 'global', extensionId: null, location, path: '',
  message, cure: 'Correct the file, or delete it.',
})
