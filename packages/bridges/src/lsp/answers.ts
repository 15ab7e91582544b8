import { isAbsolute, relative, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import {
  CODE_ITEMS, type CodeDiagnostic, type CodeLocation, type CodeSymbol, type TextPosition,
} from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'

const NAME_CHARS = 500
const TEXT_CHARS = 100_000
const URI_CHARS = 4_096

export const uriOf = (path: string): string => pathToFileURL(path).href

const listOf = (value: Json): readonly Json[] => Array.isArray(value) ? value : []
const textOf = (value: Json | undefined, most: number): string | undefined =>
  typeof value === 'string' && value !== '' ? value.slice(0, most).toWellFormed() : undefined
const member = (value: Json | undefined, name: string): Json | undefined =>
  isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined

function positionIn(range: Json | undefined): TextPosition | undefined {
  const start = member(range, 'start')
  const [line, character] = [member(start, 'line'), member(start, 'character')]
  return isIndex(line) && isIndex(character) ? { line, character } : undefined
}

const isIndex = (value: Json | undefined): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** Where a URI is. undefined if it is not one. */
function placeOf(uri: Json | undefined, workspace: string): Pick<CodeLocation, 'path' | 'isOutside'> | undefined {
  const text = textOf(uri, URI_CHARS)
  const url = text === undefined ? null : URL.parse(text)
  if (url === null) return undefined
  if (url.protocol !== 'file:') return { path: text!, isOutside: true }
  try {
    const path = resolve(fileURLToPath(url))
    const inside = relative(workspace, path)
    const isOutside = inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)
    return { path: isOutside ? path : inside || '.', isOutside }
  } catch {
    return undefined
  }
}

/** Of a Location or a LocationLink. */
function readLocation(value: Json | undefined, workspace: string): CodeLocation | undefined {
  const place = placeOf(member(value, 'uri') ?? member(value, 'targetUri'), workspace)
  const range = member(value, 'range') ?? member(value, 'targetSelectionRange') ?? member(value, 'targetRange')
  const start = positionIn(range)
  return place && start && { ...place, start }
}

/** In order, without duplicates. */
export function readLocations(answer: Json, workspace: string): readonly CodeLocation[] {
  const found = (Array.isArray(answer) ? listOf(answer) : [answer])
    .flatMap((value) => readLocation(value, workspace) ?? [])
  const unique = new Map(found.map((one) => [`${one.path}\0${one.start.line}\0${one.start.character}`, one]))
  return [...unique.values()].slice(0, CODE_ITEMS)
}

/** Markdown, of the newer and the older forms. */
export function readHover(answer: Json): string {
  const contents = member(answer, 'contents') ?? null
  const parts = (Array.isArray(contents) ? listOf(contents) : [contents]).map(markdownOf)
  return parts.filter((part) => part !== '').join('\n\n').slice(0, TEXT_CHARS).toWellFormed()
}

function markdownOf(part: Json): string {
  if (typeof part === 'string') return part.trim()
  const value = textOf(member(part, 'value'), TEXT_CHARS)?.trim() ?? ''
  const language = textOf(member(part, 'language'), NAME_CHARS)
  return language === undefined || value === '' ? value : `\`\`\`${language}\n${value}\n\`\`\``
}

const SYMBOL_KINDS = [
  'file', 'module', 'namespace', 'package', 'class', 'method', 'property', 'field', 'constructor', 'enum', 'interface',
  'function', 'variable', 'constant', 'string', 'number', 'boolean', 'array', 'object', 'key', 'null', 'enum member',
  'struct', 'event', 'operator', 'type parameter',
] as const
/** Counted from 1. */
export const SYMBOL_KIND_NUMBERS: readonly number[] = SYMBOL_KINDS.map((_, index) => index + 1)

/** `file`: where the symbols of a document are, which do not name it. */
export function readSymbols(answer: Json, workspace: string, file = ''): readonly CodeSymbol[] {
  const found: CodeSymbol[] = []
  const read = (values: readonly Json[], container?: string): void => {
    for (const value of values) {
      const name = textOf(member(value, 'name'), NAME_CHARS)
      if (name === undefined || !isJsonObject(value) || found.length >= CODE_ITEMS) continue
      const location = locationOfSymbol(value, workspace, file)
      const within = container ?? textOf(member(value, 'containerName'), NAME_CHARS)
      const kind = SYMBOL_KINDS[Number(member(value, 'kind') ?? 0) - 1] ?? 'symbol'
      if (location) found.push({ ...location, name, kind, ...(within !== undefined && { container: within }) })
      read(listOf(member(value, 'children') ?? null), name)
    }
  }
  read(listOf(answer))
  return found
}

/** Of a SymbolInformation, a WorkspaceSymbol or a DocumentSymbol. A WorkspaceSymbol may lack its range. */
function locationOfSymbol(value: JsonObject, workspace: string, file: string): CodeLocation | undefined {
  const location = member(value, 'location')
  if (location === undefined) {
    const start = positionIn(member(value, 'selectionRange')) ?? positionIn(member(value, 'range'))
    return start && { path: file, isOutside: false, start }
  }
  const place = placeOf(member(location, 'uri'), workspace)
  return place && { ...place, start: positionIn(member(location, 'range')) ?? { line: 0, character: 0 } }
}

const SEVERITIES = ['error', 'warning', 'information', 'hint'] as const

export function readDiagnostics(answer: Json | undefined): readonly CodeDiagnostic[] {
  return listOf(answer ?? null).flatMap((value) => {
    const written = member(value, 'message')
    const message = textOf(typeof written === 'string' ? written : member(written, 'value'), NAME_CHARS * 4)
    const start = positionIn(member(value, 'range'))
    if (message === undefined || start === undefined) return []
    const code = member(value, 'code')
    const source = textOf(member(value, 'source'), NAME_CHARS)
    return [{
      severity: SEVERITIES[Number(member(value, 'severity') ?? 1) - 1] ?? 'error', message, start,
      ...(typeof code === 'string' || typeof code === 'number' ? { code: String(code).slice(0, NAME_CHARS) } : {}),
      ...(source !== undefined && { source }),
    }]
  }).slice(0, CODE_ITEMS)
}
