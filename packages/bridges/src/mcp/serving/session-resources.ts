import { randomUUID } from 'node:crypto'
import { open } from 'node:fs/promises'
import type { Outcome } from '@bulkhead/contract'
import { noteOfCut } from '@bulkhead/contract/dialects'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import type { ResourceContents, ResourceInfo, ResourceSource, SourceContext } from './content-source.ts'
import type { ServedSession } from './served-session.ts'

const SKILL_TEMPLATE = 'skill://{name}/SKILL.md'
const SKILL_URI = /^skill:\/\/([a-z0-9-]{1,64})\/SKILL\.md$/
/** No skill can have this name, so the tool answers with its list. */
const NO_SKILL = '*'

interface Skill {
  readonly name: string
  readonly description: string
}

/** The skills of a session. They are read with its tool `skill`, so that its policy, limits and audit apply. */
export class SkillResources implements ResourceSource {
  /** The tool looks for skills once in a session. */
  #known: Promise<readonly Skill[]> | undefined

  async list(context: SourceContext): Promise<readonly ResourceInfo[]> {
    return (await this.#skills(context)).map(({ name, description }) => ({
      uri: SKILL_TEMPLATE.replace('{name}', name), name, description, mimeType: 'text/markdown',
    }))
  }

  async read(uri: string, { session, signal }: SourceContext): Promise<ResourceContents | undefined> {
    const name = SKILL_URI.exec(uri)?.[1]
    const outcome = name === undefined ? undefined : await callSkill(session, name, signal)
    if (outcome?.type !== 'output' || !isJsonObject(outcome.data)) return undefined
    const { content } = outcome.data
    if (typeof content !== 'string') return undefined
    const text = content.replace(/^<skill_content [^\n]*\n/, '').replace(/\n<\/skill_content>$/, '\n')
    const note = noteOfCut(outcome.metadata)
    return { uri, mimeType: 'text/markdown', text: note === undefined ? text : `${text}\n${note}` }
  }

  async templates({ session }: SourceContext) {
    if (!mayUse(session)) return []
    return [{ uriTemplate: SKILL_TEMPLATE, name: 'skill', title: 'Skill', mimeType: 'text/markdown' }]
  }

  async complete(_template: string, variable: string, context: SourceContext): Promise<readonly string[]> {
    return variable === 'name' ? (await this.#skills(context)).map(({ name }) => name) : []
  }

  async #skills({ session, signal }: SourceContext): Promise<readonly Skill[]> {
    if (!mayUse(session)) return []
    this.#known ??= callSkill(session, NO_SKILL, signal).then(skillsIn)
    const skills = await this.#known
    // A call that was cancelled or denied has no list. The next one may have.
    if (skills.length === 0) this.#known = undefined
    return skills
  }
}

const mayUse = (session: ServedSession): boolean => session.tools().some(({ name }) => name === 'skill')

const callSkill = (session: ServedSession, name: string, signal: AbortSignal): Promise<Outcome> =>
  session.call({ id: `mcp-resource-${randomUUID()}`, name: 'skill', arguments: { name } }, { signal })

function skillsIn(outcome: Outcome): readonly Skill[] {
  const data = outcome.type === 'error' ? outcome.error.data : undefined
  const skills = isJsonObject(data) && Array.isArray(data['skills']) ? data['skills'] as readonly Json[] : []
  return skills.flatMap((skill) => {
    const { name, description } = isJsonObject(skill) ? skill : {}
    return typeof name === 'string' && typeof description === 'string' ? [{ name, description }] : []
  })
}

const RESULT_TEMPLATE = 'bulkhead://results/{call}{?from}'
const RESULT_URI = /^bulkhead:\/\/results\/(mcp-[0-9]{1,15})(?:\?from=([0-9]{1,15}))?$/
const resultUri = (callId: string): string => `bulkhead://results/${callId}`
/** Saved results that a client can still read. */
const MAX_RESULTS = 1_000
/** A part stays below the limit of a message, even if every character must be escaped. */
const PART_BYTES = 1024 * 1024

/** The results of a client's calls that were too long and were saved whole. They end with its session. */
export class ResultResources implements ResourceSource {
  readonly #saved = new Map<string, { readonly tool: string; readonly path: string }>()
  readonly #listeners = new Set<() => void>()

  /** Takes note of a result of the client. */
  add({ metadata: { call_id: callId, tool, output_path: path } }: Outcome): void {
    if (path === undefined) return
    this.#saved.set(callId, { tool, path })
    if (this.#saved.size > MAX_RESULTS) this.#saved.delete(this.#saved.keys().next().value!)
    for (const changed of this.#listeners) changed()
  }

  async list(): Promise<readonly ResourceInfo[]> {
    return [...this.#saved].map(([callId, { tool }]) => ({
      uri: resultUri(callId), name: callId, title: `Result of ${tool}`, mimeType: 'text/plain',
      description: `The whole result of the call ${callId} of ${tool}, which was too long for a model.`,
    }))
  }

  async read(uri: string): Promise<ResourceContents | undefined> {
    const [, callId = '', from = '0'] = RESULT_URI.exec(uri) ?? []
    const saved = this.#saved.get(callId)
    const part = saved && await readPart(saved.path, Number(from))
    if (!part) return undefined
    const next = part.next === undefined ? {} : { _meta: { 'bulkhead/next': `${resultUri(callId)}?from=${part.next}` } }
    return { uri, mimeType: 'text/plain', text: part.text, ...next }
  }

  async templates() {
    const description = 'A saved result. Long ones come in parts: "bulkhead/next" in "_meta" is the URI of the next.'
    return [{ uriTemplate: RESULT_TEMPLATE, name: 'result', title: 'Result', description, mimeType: 'text/plain' }]
  }

  async complete(_template: string, variable: string): Promise<readonly string[]> {
    return variable === 'call' ? [...this.#saved.keys()] : []
  }

  watch(changed: () => void): () => void {
    this.#listeners.add(changed)
    return () => this.#listeners.delete(changed)
  }
}

interface Part {
  readonly text: string
  /** Where the next part begins. undefined at the end. */
  readonly next: number | undefined
}

/** undefined if the file is gone, or shorter. */
async function readPart(path: string, from: number): Promise<Part | undefined> {
  const file = await open(path).catch(() => undefined)
  if (!file) return undefined
  try {
    const { size } = await file.stat()
    if (from > size) return undefined
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(PART_BYTES, size - from)), { position: from })
    const end = from + bytesRead < size ? wholeCharacters(buffer, bytesRead) : bytesRead
    return { text: buffer.toString('utf8', 0, end), next: from + end < size && end > 0 ? from + end : undefined }
  } finally {
    await file.close()
  }
}

/** The end of the last whole character of UTF-8 before `end`. */
function wholeCharacters(bytes: Buffer, end: number): number {
  let start = end - 1
  while (start > 0 && (bytes[start]! & 0xC0) === 0x80) start -= 1
  const lead = bytes[start] ?? 0
  const length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1
  return start + length <= end ? start + length : start
}
