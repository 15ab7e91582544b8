import { styleText } from 'node:util'
import type { McpServerStatus } from '@bulkhead/bridges/mcp'
import {
  BulkheadError, ERRORS, powerPhrases, type ConfigFile, type Diagnostic, type ErrorCode, type LocalServerConfig,
} from '@bulkhead/contract'
import type { ExtensionStatus } from '@bulkhead/host'
import { givesAdvice, visibleJson, visibleText } from '@bulkhead/kit/text'
import type { Host } from '../facade/create-host.ts'
import { UsageError } from './command.ts'

const GAP = '  '
/** If the last column would be narrower than this, its text goes below the row. */
const LEAST_LAST = 24
const NOTHING = '-'

/**
 * Formats rows as aligned columns, with control characters escaped. On a narrow terminal, empty columns are dropped and
 * long cells wrap below their row. Without a terminal each row stays on one line, so that scripts can parse it.
 */
export function table(
  headings: readonly string[], rows: readonly (readonly string[])[],
  columns: number | undefined = process.stdout.columns,
): string {
  const whole = [headings, ...rows.map((row) => row.map((cell) => visibleText(cell)))]
  const wide = Math.max(...layOut(whole, undefined).map(({ length }) => length))
  const [first, ...lines] = columns === undefined || wide <= columns
    ? layOut(whole, undefined)
    : layOut(withoutEmptyColumns(whole), columns)
  return [styleText('bold', first!), ...lines].join('\n') + '\n'
}

function layOut(rows: readonly (readonly string[])[], columns: number | undefined): readonly string[] {
  const widths = rows[0]!.map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)))
  const beside = columnsBeside(widths, columns)
  const before = widths.slice(0, beside).reduce((sum, width) => sum + width + GAP.length, 0)
  return rows.map((cells) => {
    const start = cells.slice(0, beside).map((cell, index) => cell.padEnd(widths[index]!) + GAP).join('')
    const rest = cells.slice(beside, cells.at(-1) === NOTHING ? -1 : undefined).join(GAP)
    if (beside === cells.length - 1) {
      const last = cells.at(-1) ?? ''
      if (columns === undefined || before + last.length <= columns) return start + last
      if (columns - before >= LEAST_LAST) return start + words(last, columns - before).join(`\n${' '.repeat(before)}`)
    }
    return [start.trimEnd(), ...(rest === '' ? [] : words(rest, columns! - 4).map((text) => `    ${text}`))].join('\n')
  })
}

/** The number of leading columns that fit on the row: at least one, and never the last. */
function columnsBeside(widths: readonly number[], columns = Number.POSITIVE_INFINITY): number {
  let room = columns
  const full = widths.findIndex((width) => (room -= width + GAP.length) + GAP.length < 0)
  return Math.max(1, Math.min(full < 0 ? widths.length : full, widths.length - 1))
}

function withoutEmptyColumns(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const hasContent = rows[0]!.map((_, index) => rows.slice(1).some((row) => row[index] !== NOTHING))
  return rows.map((row) => row.filter((_, index) => hasContent[index]))
}

/** Wraps text at `width` between words. A longer word gets a line of its own. */
function words(text: string, width: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}

/** Formatted JSON with control characters escaped, so that it is safe to print on a terminal. */
export const jsonText = (value: unknown): string => `${visibleJson(JSON.stringify(value, null, 2))}\n`

export const printJson = (value: unknown): void => void process.stdout.write(jsonText(value))

export interface OutputStyle {
  readonly json: boolean
  readonly quiet: boolean
}

/** Of the command that runs. A process runs one at a time. */
let isQuiet = false

/** The text, or nothing with --quiet. For advice that is neither result, warning nor error. */
export const hint = (text: string): string => isQuiet ? '' : text

/** Runs a command. If it fails, prints the error and its fix, and returns 1. Rejects only with UsageError. */
export async function answering({ json, quiet }: OutputStyle, work: () => Promise<number>): Promise<number> {
  isQuiet = quiet
  try {
    return await work()
  } catch (error) {
    if (error instanceof UsageError) throw error
    const fault = BulkheadError.from(error)
    if (json) printJson({ error: faultJson(fault) })
    else process.stderr.write(faultText(fault))
    return 1
  }
}

/** An error and its fix as JSON. */
export const faultJson = ({ code, message, data }: BulkheadError): object =>
  ({ code, message, cure: ERRORS[code].cure, ...(data !== undefined && { data }) })

/** An error and its fix as text for standard error. */
export function faultText({ code, message }: BulkheadError): string {
  const heading = `${styleText('red', code, { stream: process.stderr })} ${visibleText(message, { keepLines: true })}\n`
  return givesAdvice(message) ? heading : `${heading}  cure: ${ERRORS[code].cure}\n`
}

/** Errors of a call to a tool that could not be loaded. */
const UNLOADED: ReadonlySet<ErrorCode> = new Set(['ToolNotRegistered', 'ToolsDisabled'])

/** If a call failed because the tool is missing, prints possible reasons on standard error. */
export function tellFaults(
  refusedWith: ErrorCode | undefined, name: string,
  { diagnostics: found, tools, mcp }: Pick<Host, 'diagnostics' | 'tools' | 'mcp'>,
): void {
  if (refusedWith === undefined || !UNLOADED.has(refusedWith)) return
  if (refusedWith === 'ToolNotRegistered' && tools().some((tool) => tool.name === name)) {
    process.stderr.write(`The host has the tool "${name}", but the agent of the session does not offer it.\n`)
    return
  }
  const offered = tools().filter(({ extension }) => extension === name).map((tool) => tool.name)
  if (offered.length > 0) {
    process.stderr.write(`"${visibleText(name)}" is an extension. It offers ${offered.join(', ')}.\n`)
  }
  const servers = mcp.servers().filter((server) => serverMeant(name, server))
  process.stderr.write(serverFaults(servers))
  // A server that failed is named above if the tool could be one of it, and otherwise not the reason.
  const ofServers = new Set(mcp.servers().flatMap(({ name: server, error }) => error ? [`/mcp/${server}`] : []))
  const faults = found.filter(({ severity, code, path }) =>
    (severity === 'error' && !ofServers.has(path)) || code === 'ProjectTrustRequired')
  process.stderr.write(faults.map((fault) => diagnosticText(fault, process.stderr)).join(''))
}

/** A diagnostic as text: problem, location and fix. */
export function diagnosticText(found: Diagnostic, stream: NodeJS.WriteStream = process.stdout): string {
  const colour = found.severity === 'error' ? 'red' : 'yellow'
  const place = found.path === '' ? found.location : `${found.location} at ${found.path}`
  const extension = found.extensionId === null ? '' : ` in ${visibleText(found.extensionId)}`
  const fallback = found.fallbackTo === undefined
    ? ''
    : ` The version in the ${found.fallbackTo} layer is used instead.`
  return [
    '',
    `${styleText(colour, found.severity, { stream })} ${found.code} (${found.stage})${extension}`,
    `  ${visibleText(found.message)}${fallback}`,
    `  where: ${visibleText(place)}`,
    `  cure:  ${visibleText(found.cure)}`,
    '',
  ].join('\n')
}

const HEADINGS = ['SERVER', 'TYPE', 'LAYER', 'STATE', 'TOOLS', 'ADDRESS']

/** The table of MCP servers. Empty if there are none. */
export function serverTable(servers: readonly McpServerStatus[]): string {
  if (servers.length === 0) return ''
  const rows = servers.map(({ name, type, layer, state, tools, address, unconfined }) => {
    const shownType = unconfined === undefined ? type : `local, ${unconfined === true ? '' : 'network '}not confined`
    return [name, shownType, layer, state, tools === undefined ? '-' : String(tools), address]
  })
  const isUnknown = servers.some(({ state }) => state === 'unknown')
  const advice = 'Run "bulkhead tools --connect" to connect to the servers and list their tools.\n'
  const notes = unconfinedWarnings(servers) + (isUnknown ? hint(advice) : '')
  return `\n${table(HEADINGS, rows)}${notes}`
}

const unconfinedWarnings = (servers: readonly McpServerStatus[]): string => servers.map(({ name, unconfined }) =>
  unconfined === undefined ? '' : `warning: ${name} has ${WARNINGS[`${unconfined}`]}.\n`).join('')

const WARNINGS = {
  true: '"jail": false and runs with all rights of your account',
  network: '"jail": "files" and may reach the whole network',
} as const

/** A local MCP server with `jail: false` runs as a process of the user, without a sandbox. */
export const UNCONFINED = {
  true: 'not confined: it can do everything your account can',
  network: 'its network is not confined: it can reach everything your account can',
} as const

/** Whether third-party code shares the process of the host. */
export const isInThread = ({ placement, layer }: Pick<ExtensionStatus, 'placement' | 'layer'>): boolean =>
  placement === 'thread' && layer !== 'bundled'

/** What a third-party extension in a thread lacks, as the end of a sentence. */
export const OF_THREADS =
  'no wall is around it, and its memory outside the heap, such as array buffers, is not bounded'

/** What the jail of a local server lets in, in words. */
export function grantPhrases({ requires = {}, keys = {} }: Partial<LocalServerConfig>): readonly string[] {
  const { fs = { read: ['{workspace}'] }, net } = requires
  const ofKeys = Object.entries(keys).map(([name, { host, header = 'Authorization', methods, paths }]) =>
    `uses the key ${name} in ${header} of ${methods.join(', ')} https://${host}${paths.join(` and ${host}`)}, `
    + 'and does not see it')
  const items = [
    ...(fs.read ?? []).map((subject) => ({ kind: 'fs.read' as const, subject })),
    ...(fs.write ?? []).map((subject) => ({ kind: 'fs.write' as const, subject })),
    ...(net?.hosts ?? []).map((subject) => ({ kind: 'net' as const, subject })),
  ]
  return [...powerPhrases(items, 'does'), ...ofKeys, ...(net?.hosts?.length || ofKeys.length > 0 ? [] : ['no network'])]
}

/** A document of the configuration, for people. */
export function documentWords(document: NonNullable<ConfigFile['openapi']>[string]['document']): string {
  if (typeof document === 'string') return document
  return 'url' in document && !('openapi' in document) ? document.url : 'a document in the configuration'
}

/** One line for each server that failed. */
const serverFaults = (servers: readonly McpServerStatus[]): string =>
  servers.map(({ name, error }) => error ? `${name}: ${error.code} ${visibleText(error.message)}\n` : '').join('')

/** The servers as JSON, with each error reduced to code and message. */
export const serverJson = (servers: readonly McpServerStatus[]) =>
  servers.map(
    ({ error, ...status }) => ({ ...status, ...(error && { error: { code: error.code, message: error.message } }) }),
  )

/** Whether a tool name could belong to this server. */
export function serverMeant(tool: string, { name }: Pick<McpServerStatus, 'name'>): boolean {
  const flat = (text: string) => text.replaceAll(/[^A-Za-z0-9_]/g, '_')
  return flat(tool).replace(/^mcp_+/, '').startsWith(`${flat(name)}_`)
}

const BAR_WIDTH = 24
const DRAW_EVERY_MS = 80

export interface Progress {
  report(received: number, total: number | undefined): void
  /** Clears the line. */
  end(): void
}

/** A progress bar. Writes nothing with --quiet, or unless the stream is a terminal. */
export function createProgress(label: string, stream: NodeJS.WriteStream = process.stderr): Progress {
  if (isQuiet || !stream.isTTY) return { report: () => {}, end: () => {} }
  let drawnAt = 0
  let drawn = false
  return {
    report(received, total) {
      const now = performance.now()
      if (now - drawnAt < DRAW_EVERY_MS && received !== total) return
      drawnAt = now
      drawn = true
      stream.write(`\r\u001b[2K${label} ${barOf(received, total, stream)} ${sizeInWords(received)}`)
    },
    end() {
      if (drawn) stream.write('\r\u001b[2K')
      drawn = false
    },
  }
}

function barOf(received: number, total: number | undefined, stream: NodeJS.WriteStream): string {
  if (total === undefined || total === 0) return styleText('dim', '…', { stream })
  const part = Math.min(1, received / total)
  const full = Math.round(part * BAR_WIDTH)
  const done = styleText('cyan', '█'.repeat(full), { stream })
  const rest = styleText('dim', '░'.repeat(BAR_WIDTH - full), { stream })
  return `${done}${rest} ${String(Math.round(part * 100)).padStart(3)} %`
}

export function sizeInWords(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
