import type { FileReader } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject, parseJson } from '@bulkhead/kit/json'

type Describe = (text: string) => JsonObject

/** Files that say how a project is built, run or tested, and what of them is shown. */
const KNOWN: readonly (readonly [name: RegExp, describe: Describe])[] = [
  [/^package\.json$/, describePackage],
  [/^pyproject\.toml$/, (text) => ({
    ...named(tableIn(text, 'project')), scripts: keysIn(tableIn(text, 'project.scripts')),
  })],
  [/^Cargo\.toml$/, (text) => named(tableIn(text, 'package'))],
  [/^go\.mod$/, (text) => ({ name: /^module[ \t]+(\S+)/m.exec(text)?.[1] ?? null })],
  [/^(?:GNUm|M|m)akefile$/, (text) => ({ targets: all(text, /^([A-Za-z][\w.-]*)[ \t]*:(?!=)/gm) })],
  [/^(?:Dockerfile|Containerfile)$/, (text) => ({ starts: all(text, /^((?:ENTRYPOINT|CMD)\s.*)$/gm) })],
  [/^README(?:\.(?:md|rst|txt))?$/i, (text) => ({ title: /^#*[ \t]*(\S.*)$/m.exec(text)?.[1] ?? null })],
  [/^(?:setup|manage|__main__)\.py$|^main\.(?:go|rs|py|c|cpp)$|^docker-compose\.ya?ml$/, () => ({})],
  [/^(?:build\.gradle(?:\.kts)?|pom\.xml|Gemfile|mix\.exs|CMakeLists\.txt)$/, () => ({})],
]

const MOST_FILES = 40
/** Longer files are named and not read. */
const MOST_BYTES = 64 * 1024
/** Folders above an entry point. Deeper ones are rarely those of the repository. */
const MOST_DEPTH = 3
const MOST_NAMES = 30
const MOST_CHARS = 160

/** The entry points among the files of a folder, the uppermost first. */
export async function entryPoints(
  fs: FileReader, folder: string, paths: readonly string[], signal: AbortSignal,
): Promise<readonly JsonObject[]> {
  const found = paths.filter((path) => path.split('/').length <= MOST_DEPTH && describerOf(path) !== undefined)
    .toSorted((one, other) => one.split('/').length - other.split('/').length || (one < other ? -1 : 1))
  const points: JsonObject[] = []
  for (const path of found.slice(0, MOST_FILES)) {
    signal.throwIfAborted()
    points.push({ path, ...await describe(fs, `${folder}/${path}`, describerOf(path)!) })
  }
  return points
}

const describerOf = (path: string): Describe | undefined =>
  KNOWN.find(([name]) => name.test(path.slice(path.lastIndexOf('/') + 1)))?.[1]

async function describe(fs: FileReader, path: string, describer: Describe): Promise<JsonObject> {
  try {
    const { size } = await fs.stat(path)
    const described = size > MOST_BYTES ? {} : describer(await fs.readText(path))
    const known = Object.entries(described).filter(([, value]) => !isEmpty(value))
    return Object.fromEntries(known.map(([key, value]) => [key, bounded(value)]))
  } catch {
    // The file cannot be read, or is malformed. It is still an entry point.
    return {}
  }
}

const isEmpty = (value: Json): boolean =>
  value === null || (typeof value === 'object' && Object.keys(value).length === 0)

/** Strings and lists of a repository can be of any size. */
function bounded(value: Json): Json {
  if (typeof value === 'string') return cut(value)
  if (Array.isArray(value)) return value.slice(0, MOST_NAMES).map(bounded)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).slice(0, MOST_NAMES).map(([key, each]) => [cut(key), bounded(each)]))
}

const cut = (text: string): string =>
  text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS).toWellFormed()}…` : text

function describePackage(text: string): JsonObject {
  const parsed = parseJson(text)
  if (!parsed.ok || !isJsonObject(parsed.value)) return {}
  const { name, main, bin, exports: exported, scripts, workspaces } = parsed.value
  const strings = (value: Json | undefined): Json => isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).filter(([, each]) => typeof each === 'string'))
    : typeof value === 'string' ? value : null
  return {
    name: strings(name), main: strings(main), bin: strings(bin), scripts: strings(scripts),
    exports: isJsonObject(exported) ? Object.keys(exported) : strings(exported),
    workspaces: Array.isArray(workspaces) ? workspaces.filter((each) => typeof each === 'string') : null,
  }
}

/** The lines of a table of a TOML file. */
function tableIn(text: string, table: string): string {
  const lines = text.split('\n')
  const start = lines.findIndex((line) => line.trim() === `[${table}]`)
  if (start < 0) return ''
  const end = lines.findIndex((line, index) => index > start && line.trimStart().startsWith('['))
  return lines.slice(start + 1, end < 0 ? lines.length : end).join('\n')
}

const named = (table: string): JsonObject =>
  ({ name: /^name[ \t]*=[ \t]*["']([^"'\n]*)["']/m.exec(table)?.[1] ?? null })

const keysIn = (table: string): readonly string[] => all(table, /^["']?([\w.-]+)["']?[ \t]*=/gm)

const all = (text: string, pattern: RegExp): readonly string[] =>
  Array.from(text.matchAll(pattern).take(MOST_NAMES), (match) => match[1]!)
