import { BulkheadError, type CommandAnswer, type Manifest } from '@bulkhead/contract'
import { firstFault, fixturesSchema, type FixtureAnswers } from '@bulkhead/contract/validation'
import { compileGlob, matchSegment, pathSegments } from '@bulkhead/kit/glob'
import { hostMatches } from '@bulkhead/kit/hosts'
import { atPointer, parseJson, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'

export type HttpAnswer = NonNullable<FixtureAnswers['http']>[string][number]

/** What a publisher gives the tools in a run: files, answers and values. */
export interface Fixtures {
  /** By path in the workspace. */
  readonly files: ReadonlyMap<string, Uint8Array>
  readonly http: ReadonlyMap<string, readonly HttpAnswer[]>
  /** Values of secrets and variables. */
  readonly secrets: ReadonlyMap<string, string>
  readonly commands: NonNullable<FixtureAnswers['commands']>
  /** Data of tools of other extensions. */
  readonly tools: ReadonlyMap<string, Json>
  /** Answers of a person, by question. */
  readonly answers: ReadonlyMap<string, Json>
}

const FILES = 'files/'
const NAMES = ['http', 'secrets', 'commands', 'tools', 'answers'] as const

/**
 * Reads the files of a folder `fixtures`, by their path in it. Throws ConfigInvalid, with the file and the field.
 * `manifest`: hosts, commands and names that it does not declare are errors, because no tool could use them.
 */
export function readFixtures(given: ReadonlyMap<string, Uint8Array>, manifest: Manifest): Fixtures {
  const files = [...given].filter(([path]) => path.startsWith(FILES))
  const written = [...given].filter(([path]) => !path.startsWith(FILES)).map(([path, bytes]) => {
    const name = NAMES.find((one) => path === `${one}.json`)
    if (name === undefined) throw invalid(path, `is not one of files/, ${NAMES.map((one) => `${one}.json`).join(', ')}`)
    return [name, parsed(path, bytes)] as const
  })
  const result = fixturesSchema.safeParse(Object.fromEntries(written))
  if (!result.success) throw placed(firstFault(result.error.issues, fixturesSchema, ''))
  const { http = {}, secrets = {}, commands = [], tools = {}, answers = {} } = result.data
  requireDeclared({ http, secrets, commands }, manifest)
  return {
    files: new Map(files.map(([path, bytes]) => [path.slice(FILES.length), bytes])), commands,
    http: new Map(Object.entries(http)), secrets: new Map(Object.entries(secrets)),
    tools: new Map(Object.entries(tools)), answers: new Map(Object.entries(answers)),
  }
}

const invalid = (file: string, what: string): BulkheadError =>
  new BulkheadError('ConfigInvalid', `fixtures/${visibleText(file)} ${what}.`)

function parsed(path: string, bytes: Uint8Array): Json {
  const result = parseJson(new TextDecoder().decode(bytes))
  if (result.ok) return result.value
  const { path: pointer, message } = result.fault
  throw invalid(path, `${atPointer(pointer).trim()} ${message}`.trim())
}

/** The first step of the path is the name of the file. */
function placed({ path, message }: { readonly path: string; readonly message: string }): BulkheadError {
  const [, name = '', ...steps] = path.split('/')
  const pointer = steps.map((step) => `/${step}`).join('')
  const what = message.slice(visibleText(path).length).trim().replace(/\.$/, '')
  return invalid(`${name}.json`, pointer === '' ? what : `at ${visibleText(pointer)} ${what}`)
}

function requireDeclared(
  { http, secrets, commands }: Required<Pick<FixtureAnswers, 'http' | 'secrets' | 'commands'>>,
  { tools, env, secrets: declared }: Manifest,
): void {
  const hosts = tools.flatMap(({ requires }) => requires.net?.hosts ?? [])
  const host = Object.keys(http).find((name) => !hostMatches(hosts, name))
  if (host !== undefined) throw invalid('http.json', `at /${host} answers for a host that no tool declares`)
  const wide = Object.keys(http).find((name) => name.includes('*'))
  if (wide !== undefined) throw invalid('http.json', `at /${wide} must name one host, without *`)
  const names = new Set([...env, ...declared.map(({ name }) => name)])
  const secret = Object.keys(secrets).find((name) => !names.has(name))
  if (secret !== undefined) {
    throw invalid('secrets.json', `at /${secret} has a name that neither secrets nor env declares`)
  }
  const programs = new Set(tools.flatMap(({ requires }) => requires.shell?.map(({ cmd }) => cmd) ?? []))
  const at = commands.findIndex(({ cmd }) => !programs.has(cmd) && !programs.has('*'))
  if (at >= 0) throw invalid('commands.json', `at /${at}/cmd names a command that no tool declares`)
}

/** The answer to a request; undefined if the fixtures say nothing about its host. */
export function httpAnswerOf(
  { http }: Fixtures, { host, method, url }: { readonly host: string; readonly method: string; readonly url: string },
): HttpAnswer | undefined {
  const [path = '/', query] = url.split('?', 2) as [string, string?]
  return http.get(host.toLowerCase())?.find((answer) => {
    const [pattern = '/', wanted] = answer.path.split('?', 2) as [string, string?]
    return (answer.method ?? method) === method && (wanted === undefined || wanted === query)
      && compileGlob(pattern, { below: false })(pathSegments(path)).covers
  }) ?? (http.has(host.toLowerCase()) ? { path: '/**', status: 404 } : undefined)
}

/** What a command puts out; undefined if the fixtures do not say. */
export function commandAnswerOf(
  { commands }: Fixtures, cmd: string, args: readonly string[],
): CommandAnswer | undefined {
  const found = commands.find((one) => one.cmd === cmd && (one.args === undefined
    || (one.args.length === args.length && one.args.every((pattern, index) => matchSegment(pattern, args[index]!)))))
  return found && { exitCode: found.exitCode ?? 0, stdout: found.stdout ?? '', stderr: found.stderr ?? '' }
}
