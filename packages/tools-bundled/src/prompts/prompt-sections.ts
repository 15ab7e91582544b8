import { visibleText } from '@bulkhead/kit/text'
import { type Guidance, notesFor } from './guidance.ts'
import { fillKit, type Kit } from './kits.ts'
import { areMet } from './yaml-files.ts'

export type PromptSectionId = 'tools' | 'agents' | 'skills' | 'kits'

/** A part of the system prompt. */
export interface PromptSection {
  readonly id: PromptSectionId
  readonly title: string
  readonly text: string
  /** The length of `text` in characters. */
  readonly size: number
}

/** An entry that did not fit. */
export interface OmittedPrompt {
  readonly section: PromptSectionId
  /** The name of the tool, agent, skill or kit. */
  readonly name: string
  /** What the entry would have needed, in characters. */
  readonly size: number
}

export interface PromptSections {
  /** Most useful first. A section without entries is left out. */
  readonly sections: readonly PromptSection[]
  /** What did not fit into `maxChars`, most useful first. */
  readonly omitted: readonly OmittedPrompt[]
}

/** A skill or an agent. */
export interface Described {
  readonly name: string
  readonly description: string
}

/** What a prompt is made of. */
export interface PromptMaterial {
  /** The names of the tools that the session may call. */
  readonly tools: ReadonlySet<string>
  readonly guidance: readonly Guidance[]
  readonly agents: readonly Described[]
  readonly skills: readonly Described[]
  readonly kits: readonly Kit[]
}

/** About 4,000 tokens. */
export const PROMPT_CHARS = 16_000
const LINE_CHARS = 240

interface Entry {
  readonly name: string
  readonly text: string
}

interface Heading {
  readonly id: PromptSectionId
  readonly title: string
  readonly introduction: string
  /** Between two entries. */
  readonly gap: '\n' | '\n\n'
}

/** The sections for a session with these tools, within `maxChars` characters of text altogether. */
export function composeSections(material: PromptMaterial, maxChars: number = PROMPT_CHARS): PromptSections {
  const sections: PromptSection[] = []
  const omitted: OmittedPrompt[] = []
  let left = maxChars
  for (const [heading, entries] of entriesOf(material)) {
    const { id, title, introduction, gap } = heading
    let text = introduction
    for (const { name, text: entry } of entries) {
      const longer = `${text}${text === introduction ? '\n' : gap}${entry}`
      if (longer.length <= left) text = longer
      else omitted.push({ section: id, name, size: entry.length })
    }
    if (text === introduction) continue
    sections.push({ id, title, text, size: text.length })
    left -= text.length
  }
  return { sections, omitted }
}

function entriesOf(
  { tools, guidance, agents, skills, kits }: PromptMaterial,
): readonly (readonly [Heading, readonly Entry[]])[] {
  return [
    [TOOLS, guidance.flatMap((one) => {
      const notes = notesFor(one, tools)
      return notes === undefined ? [] : [{ name: one.tool, text: `- ${one.tool}: ${notes}` }]
    })],
    [AGENTS, tools.has('task') ? agents.map(lineOf) : []],
    [SKILLS, tools.has('skill') ? skills.map(lineOf) : []],
    [KITS, kits.filter(({ needs }) => areMet(needs, tools)).map((kit) => ({ name: kit.name, text: kitText(kit) }))],
  ]
}

const TOOLS: Heading = {
  id: 'tools', title: 'Using the tools', introduction: 'What the descriptions of the tools do not say:', gap: '\n',
}
const AGENTS: Heading = {
  id: 'agents', title: 'Agents', introduction: 'Agents that you can start with the tool `task`:', gap: '\n',
}
const SKILLS: Heading = {
  id: 'skills', title: 'Skills', introduction: 'Instructions that you can load with the tool `skill`:', gap: '\n',
}
const KITS: Heading = {
  id: 'kits', title: 'Ways to work', gap: '\n\n',
  introduction: 'Each of these is for one kind of work. If a request is of that kind, follow it.\n',
}

/** One line, because a description from a project could imitate other parts of the prompt. */
function lineOf({ name, description }: Described): Entry {
  const line = visibleText(description.replaceAll(/\s+/g, ' ').trim())
  const cut = line.length <= LINE_CHARS ? line : `${line.slice(0, LINE_CHARS - 1).toWellFormed()}…`
  return { name, text: cut === '' ? `- ${name}` : `- ${name}: ${cut}` }
}

/** Arguments without a value stand for what the user asks. */
function kitText(kit: Kit): string {
  const open = kit.arguments.filter(({ default: preset = '' }) => preset === '')
  const values = new Map(open.map(({ name }) => [name, `(the ${name} of the request)`]))
  return `### ${kit.title ?? kit.name}\n${kit.description}\n\n${fillKit(kit, values).trim()}`
}
