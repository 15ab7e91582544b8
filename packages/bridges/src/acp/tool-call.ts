import { resolve } from 'node:path'
import type { ContentBlock, ToolCall, ToolCallContent, ToolCallLocation, ToolKind } from '@agentclientprotocol/sdk'
import { isLockedTool, type Content, type Outcome, type ToolDefinition } from '@bulkhead/contract'
import { noteOfCut, textOfData, toMcpBlock } from '@bulkhead/contract/dialects'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'

type ShownTool = Pick<ToolDefinition, 'name' | 'label' | 'kind' | 'mode' | 'requires' | 'executor'>

/** A call as its caller made it. */
export interface ShownCall {
  readonly id: string
  readonly name: string
  readonly args: Json
  /** undefined if no tool has that name. */
  readonly tool: ShownTool | undefined
  /** The workspace. Clients get absolute paths. */
  readonly cwd: string
}

/** The kind of a tool, which a client shows as an icon. A tool that declares none gets one from its mode. */
export function toolKind({ name, kind, mode, requires, executor }: ShownTool): ToolKind {
  if (kind !== 'other' || isLockedTool(name) || executor === 'remote') return kind
  switch (mode) {
    case 'read': return 'read'
    case 'safe_write': return 'edit'
    case 'destructive': return 'delete'
    case 'external': return 'fetch'
    case 'local': return (requires.shell ?? []).length > 0 ? 'execute' : 'other'
  }
}

/** A call that waits to run. */
export function toToolCall(call: ShownCall): ToolCall {
  const { id, name, args, tool } = call
  return {
    toolCallId: id, name, title: titleOf(call), status: 'pending',
    kind: tool === undefined ? 'other' : toolKind(tool),
    content: [...diffOf(call)], locations: [...locationsOf(call)],
    ...(isShort(args) ? { rawInput: args } : {}),
  }
}

const TITLE_CHARS = 120
/** The argument that says most about a call, in this order. */
const SUBJECTS = ['command', 'path', 'file_path', 'url', 'query', 'pattern', 'name', 'prompt'] as const

/** For one line. */
function titleOf({ name, args, tool }: ShownCall): string {
  const label = tool?.label ?? name
  const subject = isJsonObject(args)
    ? SUBJECTS.map((key) => args[key]).find((value) => typeof value === 'string' && value !== '') : undefined
  const title = visibleText(subject === undefined ? label : `${label}: ${String(subject).split('\n', 1)[0]}`)
  return title.length > TITLE_CHARS ? `${title.slice(0, TITLE_CHARS - 1).toWellFormed()}…` : title
}

/** Longer values are not sent: a client shows them to a person. */
const MOST_CHARS = 1024 * 1024
export const isShort = (value: Json): boolean => textOfData(value).length <= MOST_CHARS

/** What an edit would change, as far as its arguments say. The previous content of a written file is unknown. */
function diffOf(call: ShownCall): readonly ToolCallContent[] {
  const { args, tool } = call
  const path = pathOf(call)
  if (path === undefined || !isJsonObject(args) || tool === undefined || toolKind(tool) !== 'edit') return []
  const { old_string: oldText, new_string, content: newText = new_string } = args
  if (typeof newText !== 'string' || !isShort(args)) return []
  return [{ type: 'diff', path, newText, ...(typeof oldText === 'string' ? { oldText } : {}) }]
}

const PATH_CHARS = 4096

function pathOf({ args, cwd }: ShownCall): string | undefined {
  const given = isJsonObject(args) ? args['path'] ?? args['file_path'] : undefined
  return typeof given === 'string' && isPath(given) ? resolve(cwd, given) : undefined
}

const isPath = (given: string): boolean => given !== '' && given.length <= PATH_CHARS && !given.includes('\0')

function locationsOf(call: ShownCall): readonly ToolCallLocation[] {
  const path = pathOf(call)
  const line = isJsonObject(call.args) ? call.args['offset'] : undefined
  return path === undefined ? [] : [{ path, ...(isLine(line) ? { line } : {}) }]
}

const isLine = (value: Json | undefined): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0

const MOST_LOCATIONS = 20

/** Where a search found something, so that a client can follow. */
export function foundLocations(outcome: Outcome, cwd: string): readonly ToolCallLocation[] {
  const matches = outcome.type === 'output' && isJsonObject(outcome.data) ? outcome.data['matches'] : undefined
  if (!Array.isArray(matches)) return []
  return matches.slice(0, MOST_LOCATIONS).flatMap((match: Json) => {
    const { path, line }: JsonObject = isJsonObject(match) ? match : {}
    if (typeof path !== 'string' || !isPath(path)) return []
    return [{ path: resolve(cwd, path), ...(isLine(line) ? { line } : {}) }]
  })
}

/** What a client shows of an outcome, besides diffs and terminals. */
export function toToolContent(outcome: Outcome): ToolCallContent[] {
  const text = outcome.type === 'output' ? textOfData(outcome.data) : outcome.error_text
  const { content = [{ type: 'text', text }] } = outcome
  const note = noteOfCut(outcome.metadata)
  return [...content, ...(note === undefined ? [] : [{ type: 'text', text: note } as const])].map(inContent)
}

/** Text of the host or a tool. */
export const textContent = (text: string): ToolCallContent => inContent({ type: 'text', text })

const inContent = (block: Content): ToolCallContent => ({ type: 'content', content: toBlock(block) })

/** Blocks are those of MCP. */
const toBlock = (block: Content): ContentBlock => toMcpBlock(
  block.type === 'text' ? { type: 'text', text: visibleText(block.text, { keepLines: true }) } : block,
)
