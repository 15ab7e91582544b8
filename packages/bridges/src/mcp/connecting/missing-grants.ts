import { existsSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { BulkheadError, type Diagnostic, type JailGrant } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { isJsonObject } from '@bulkhead/kit/json'
import { codeOfCommand, findProgram, includesPath, isOfSystem } from '@bulkhead/kit/programs'
import { diagnosticOf } from '../../connected/entries.ts'
import { grantOf, type Surroundings } from '../../connected/local-server.ts'
import { isJailed, type ServerEntry } from './server-entry.ts'

/** Programs that download a package at each start. */
const LAUNCHERS: ReadonlySet<string> = new Set(['npx', 'bunx', 'pnpx', 'uvx', 'pipx'])
const LAUNCHING = /^(?:npm (?:exec|x)|pnpm (?:dlx|exec)|yarn dlx|bun x|uv tool run|deno run)$/

/** What the command line of a server in a jail names and the server may not use. Starts nothing. */
export function missingGrants(entry: ServerEntry, surroundings: Surroundings): readonly Diagnostic[] {
  const { name, config } = entry
  if (!isJailed(config)) return []
  const { command } = config
  const grant = grantOf(config, surroundings)
  const warn = (message: string, cure: string) => diagnosticOf(entry, 'CapabilityDenied', message, cure, 'warning')
  const paths = missingPaths(command, grant, surroundings)
  const program = basename(command[0]!)
  const isLauncher = LAUNCHERS.has(program)
    || [2, 3].some((words) => LAUNCHING.test([program, ...command.slice(1, words)].join(' ')))
  return [
    ...paths.map((path) => warn(
      `The MCP server "${name}" runs in a jail and may not read "${path}", which its command names.`,
      `Add the folder to mcp.${name}.requires.fs.read in the configuration.`,
    )),
    ...(isLauncher && grant.hosts.length === 0 ? [warn(
      `The MCP server "${name}" runs in a jail without network, but "${program}" downloads it at each start.`,
      `Install it once: bulkhead mcp remove ${name}, then bulkhead mcp add ${name} -- ${command.join(' ')}`,
    )] : []),
  ]
}

/** Paths that a command line names, that exist, and that the server may not read. */
function missingPaths(
  [name = '', ...args]: readonly string[], grant: JailGrant, { workspace: cwd, base }: Surroundings,
): readonly string[] {
  const path = base['PATH'] ?? ''
  const code = codeOfCommand(findProgram(name, cwd, path) ?? name, args, cwd, path)
  const seen = [...code, ...grant.read, ...grant.write]
  const named = args.map((argument) => /^--?[\w-]+=(.+)$/s.exec(argument)?.[1] ?? argument)
    .filter((argument) => argument !== '' && !/^(?:-|[a-z]+:)/i.test(argument))
    .map((argument) => resolve(cwd, argument))
  return [...new Set(named)].filter((file) => existsSync(file) && !isOfSystem(file) && !includesPath(seen, file))
}

const HINTS: readonly (readonly [error: RegExp, key: string])[] = [
  [/\b(?:ENOTFOUND|EAI_AGAIN|E(?:NET|HOST)UNREACH)\b|resolve host|name resolution|is unreachable/i, 'net.hosts'],
  [/\bEROFS\b|read-only file system/i, 'fs.write'],
  [/\b(?:ENOENT|EACCES|EPERM)\b|no such file|permission denied|cannot find|ModuleNotFoundError/i, 'fs.read'],
]
/** Errors that have many reasons, but one for a server that may reach no host. */
const NO_NETWORK = /\bECONNREFUSED\b|\bfetch failed\b/i

/** Which grant an error of a server in a jail suggests. The text is untrusted, so nothing of it is repeated. */
export function grantHint({ name, config }: Pick<ServerEntry, 'name' | 'config'>, text: string): string | undefined {
  if (!isJailed(config)) return undefined
  const hasNetwork = (config.requires?.net?.hosts ?? []).length > 0
  const key = !hasNetwork && NO_NETWORK.test(text) ? 'net.hosts' : HINTS.find(([pattern]) => pattern.test(text))?.[1]
  return key && `The server runs in a jail. If it needs more, extend mcp.${name}.requires.${key} in the configuration`
}

type HintOf = (text: string) => string | undefined

/** A failed result, with a hint if a missing grant could be the reason. */
export function withGrantHint(result: JsonObject, hintOf: HintOf): JsonObject {
  const { content, isError } = result
  if (isError !== true || !Array.isArray(content)) return result
  const hint = hintOf(content.map(textOf).join('\n'))
  return hint === undefined ? result : { ...result, content: [...content, { type: 'text', text: `[${hint}.]` }] }
}

/** The same for an error of the server. */
export function withHint(fault: BulkheadError, hintOf: HintOf): BulkheadError {
  const { code, message, data } = fault
  const hint = code === 'ToolExecutionFailed' ? hintOf(message) : undefined
  if (hint === undefined) return fault
  return new BulkheadError(code, `${message} [${hint}.]`, { ...(data !== undefined && { data }) })
}

const textOf = (block: Json): string => isJsonObject(block) && typeof block['text'] === 'string' ? block['text'] : ''
