import {
  type ArgumentsReader, BulkheadError, CODE_ITEMS, type CodeDiagnostic, type CodeLocation, defineTool,
  type FileReader, type FromJsonSchema, type LanguageServers, type SourceFile, type TextPosition, ToolError,
} from '@bulkhead/contract'
import { foldersAbove, normalPath, outermostRoot, pathKey, pathReader, refuseHome, stringOr } from '../model/paths.ts'
import { columnAt, linesOf, positionAt } from './positions.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    action: {
      enum: ['definition', 'references', 'hover', 'symbols', 'workspace_symbols', 'diagnostics'],
      description: 'What to find. `symbols` are those of the file, `workspace_symbols` those of the project that match '
        + '`query`.',
    },
    path: {
      type: 'string', minLength: 1,
      description: 'Path of the file. For `workspace_symbols`, any file of the language.',
    },
    line: { type: 'integer', minimum: 1, description: 'The line of the symbol, starting at 1.' },
    column: { type: 'integer', minimum: 1, description: 'Its column in characters, starting at 1.' },
    query: {
      type: 'string', minLength: 1, maxLength: 1000,
      description: 'The name to search for with `workspace_symbols`; otherwise the text of the symbol in `line`, '
        + 'instead of `column`.',
    },
  },
  required: ['action', 'path'],
  additionalProperties: false,
} as const

const MAX_BYTES = 4 * 1024 * 1024
const LINE_CHARS = 400
/** Files whose lines are shown. The places in others have no text. */
const SHOWN_FILES = 200

type LspArgs = FromJsonSchema<typeof INPUT_SCHEMA>

/** Finds the language servers of a folder with all its files. Default: the workspace of the tool. */
export type FindLanguageServers = (root?: string) => Promise<LanguageServers | undefined>

interface Options {
  /** Without servers, calls fail. */
  readonly languageServers?: FindLanguageServers | undefined
}

const NO_SERVERS: FindLanguageServers = async () => undefined

export const createTool = ({ languageServers: find = NO_SERVERS }: Options) => defineTool({
  label: 'Ask a language server',
  description: 'Answers questions about code with the language server of the file: where a symbol is defined '
    + '(`definition`) or used (`references`), its type and documentation (`hover`), the symbols of a file or of the '
    + 'project (`symbols`, `workspace_symbols`), and errors (`diagnostics`). Give the place with `line` and '
    + '`column`, or with `line` and the text of the symbol in `query`. `incomplete`: there may be more.',
  input: INPUT_SCHEMA,
  // No {ad-hoc}: a server reads the whole folder, and the arguments reader must name that folder.
  requires: { fs: { read: ['{workspace}'] } },
  gated: true,
  mode: 'read',
  kind: 'search',
  idempotent: true,
  timeoutMs: 60_000,
  maxEntries: 200,
  maxOutput: '256KB',
  execute: (args, { fs, signal }) => ask(args, find, fs, signal),
  deriveApprovalKey: () => pathKey(),
})

async function ask(args: LspArgs, find: FindLanguageServers, fs: FileReader, signal: AbortSignal) {
  refuseHome(args.path)
  const file = await readSource(args.path, fs)
  const servers = await find(await readableRoot(args.path, fs))
  if (servers === undefined) {
    throw new BulkheadError('CapabilityUnavailable', 'This host has no language servers. Use grep and read instead.')
  }
  const lines = linesOf(file.text)
  switch (args.action) {
    case 'definition':
    case 'references': {
      const found = await servers[args.action](file, placeOf(args, lines), signal)
      return { locations: await shown(found, fs, false), ...countOf(found) }
    }
    case 'hover':
      return { content: await servers.hover(file, placeOf(args, lines), signal) }
    case 'symbols': {
      const found = await servers.symbols(file, signal)
      return { symbols: await shown(found, fs, true), ...countOf(found) }
    }
    case 'workspace_symbols': {
      if (args.query === undefined) throw new ToolError('InputInvalid', '`workspace_symbols` needs a name in `query`.')
      const found = await servers.findSymbols(file, args.query, signal)
      return { symbols: await shown(found, fs, true), ...countOf(found) }
    }
    case 'diagnostics': {
      const found = await servers.diagnostics(file, signal)
      return { path: file.path, diagnostics: found.map((one) => shownDiagnostic(one, lines)), ...countOf(found) }
    }
  }
}

const countOf = ({ length: total }: readonly unknown[]) => ({ total, ...(total >= CODE_ITEMS && { incomplete: true }) })

/** Reads the file with the grant of this tool: a server learns only texts that the tool may read. */
async function readSource(path: string, fs: FileReader): Promise<SourceFile> {
  const { kind, size } = await fs.stat(path)
  if (kind !== 'file') throw new ToolError('InputInvalid', `"${path}" is a folder. Name a file.`)
  if (size > MAX_BYTES) {
    throw new ToolError('InputInvalid', `"${path}" has ${size} bytes. The limit of this tool is ${MAX_BYTES} bytes.`)
  }
  const text = await fs.readText(path)
  return { path, text: text.replace(/^\ufeff/, '') }
}

/**
 * The folder whose files a server may read: the outermost one above the file that this tool may read, as the arguments
 * reader states it. undefined: the workspace.
 */
async function readableRoot(path: string, fs: FileReader): Promise<string | undefined> {
  if (!path.startsWith('/')) return undefined
  let root: string | undefined
  for (const folder of foldersAbove(normalPath(path))) {
    const isReadable = await fs.stat(folder).then(() => true, () => false)
    if (!isReadable) break
    root = folder
  }
  return root
}

function placeOf({ action, path, line, column, query }: LspArgs, lines: readonly string[]): TextPosition {
  if (line === undefined || (column === undefined && query === undefined)) {
    const message = `\`${action}\` needs \`line\` and \`column\`, or \`line\` and the text of the symbol in \`query\`.`
    throw new ToolError('InputInvalid', message)
  }
  const text = lines[line - 1]
  if (text === undefined) {
    throw new ToolError('InputInvalid', `"${path}" has ${lines.length} lines. Line ${line} is past its end.`)
  }
  if (column === undefined) {
    const character = text.indexOf(query!)
    if (character >= 0) return { line: line - 1, character }
    const message = `Line ${line} of "${path}" does not contain ${JSON.stringify(query)}: ${cut(text)}`
    throw new ToolError('InputInvalid', message)
  }
  const position = positionAt(lines, line, column)
  if (position !== undefined) return position
  const length = [...text].length
  const message = `Line ${line} of "${path}" has ${length} characters. Column ${column} is past its end.`
  throw new ToolError('InputInvalid', message)
}

/** With the text of each line, as far as the tool may read it. Of places outside of the workspace only the path. */
async function shown<Found extends CodeLocation>(found: readonly Found[], fs: FileReader, isNamed: boolean) {
  const paths = [...new Set(found.filter(({ isOutside }) => !isOutside).map(({ path }) => path))].slice(0, SHOWN_FILES)
  const texts = new Map<string, readonly string[]>()
  for (const path of paths) {
    const source = await readSource(path, fs).catch(() => undefined)
    if (source) texts.set(path, linesOf(source.text))
  }
  return found.map(({ start, isOutside, ...rest }) => {
    const text = texts.get(rest.path)?.[start.line]
    const place = text === undefined ? { line: start.line + 1, column: start.character + 1 } : placeIn(text, start)
    const line = text === undefined || isNamed ? {} : { text: cut(text) }
    return { ...rest, ...place, ...(isOutside && { outside: true }), ...line }
  })
}

const placeIn = (text: string, { line, character }: TextPosition) =>
  ({ line: line + 1, column: columnAt(text, character) })

function shownDiagnostic({ start, ...rest }: CodeDiagnostic, lines: readonly string[]) {
  const text = lines[start.line] ?? ''
  return { ...rest, ...placeIn(text, start), text: cut(text) }
}

const cut = (text: string): string =>
  text.length <= LINE_CHARS ? text : `${text.slice(0, LINE_CHARS).toWellFormed()}…`

/** A server reads the whole workspace, or the whole root that has the file. */
export const readArguments: ArgumentsReader = (args, context) => pathReader(({ path }) => ({
  path: outermostRoot(stringOr(path), context), verb: 'let a language server read all below', isFolder: true,
  reads: true, needs: ['fs.read'],
}))(args, context)
