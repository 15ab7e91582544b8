import { existsSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { BulkheadError, TOOL_NAME_PATTERN, withHomeVariable, type McpServerConfig } from '@bulkhead/contract'
import { isJsonObject, parseJson, type Json } from '@bulkhead/kit/json'
import { removeJson } from '@bulkhead/kit/json-edit'
import { isSecretName, visibleText } from '@bulkhead/kit/text'
import { homeFolder } from '../../facade/folders.ts'
import { type CommandOptions, defineSubcommand, UsageError, type ValuesOf } from '../command.ts'
import { changeConfig, readIfPresent, userFile } from '../config-file.ts'
import { FOLDER_OPTIONS, type HostValues } from '../host-options.ts'
import { type Pinned, pin, readLauncher } from './mcp-pin.ts'
import { diagnosticText, grantPhrases, hint } from '../output.ts'

const ADD_OPTIONS = {
  read: {
    type: 'string', multiple: true, value: 'PATH', completes: 'folder', text: 'let the server read a folder or file',
  },
  write: {
    type: 'string', multiple: true, value: 'PATH', completes: 'folder',
    text: 'let the server read and write a folder or file',
  },
  net: { type: 'string', multiple: true, value: 'HOST', text: 'let the server reach a host, such as api.example.com' },
  'use-key': {
    type: 'string', multiple: true, value: 'NAME=HOST',
    text: 'send the key in a variable to a host for the server, such as ACME_TOKEN=api.example.com/v1/**',
  },
  env: { type: 'string', multiple: true, value: 'NAME', text: 'give the server an environment variable' },
  ...FOLDER_OPTIONS,
} as const satisfies CommandOptions

export const ADD_DETAILS = `"add" writes a local server into your configuration and shows what it may use. The server
runs in a jail: it reads the workspace, and has no network, unless options grant more. Options can be repeated; put them
before the --. With --use-key the server gets a placeholder, and the host puts the key into the header Authorization of
its requests to HOST; a path after HOST limits them. With --env the server gets the value itself: use it for settings,
and for a key only if the client pins certificates or speaks only HTTP/2. If the command is npx or uvx, the package is
installed once, in the folder servers of the home, with exact versions and digests and without running its scripts, so
that the server starts without a network. "remove" also deletes what was installed.`

type LocalServer = Extract<McpServerConfig, { readonly type: 'local' }>

export const add = defineSubcommand({
  text: 'add a local server to your configuration',
  usage: 'NAME -- COMMAND…',
  options: ADD_OPTIONS,
  async run({ values, positionals: [name, ...command] }) {
    if (name === undefined || command.length === 0) {
      throw new UsageError('Name the server and its command: bulkhead mcp add NAME -- COMMAND….')
    }
    refuseName(name)
    const { editConfig } = await import('@bulkhead/loader')
    const file = userFile(values)
    if (hasServer(readIfPresent(file), name)) {
      const message = `"${file}" already has a server "${name}". Remove it first: bulkhead mcp remove ${name}`
      throw new BulkheadError('RegistrationConflict', message)
    }
    const requires = requiresOf(values)
    const launcher = readLauncher(command)
    const folder = serverFolder(values, name)
    const pinned = launcher && await pin(launcher, folder)
    const given: LocalServer = {
      type: 'local', command: [...pinned?.command ?? command], ...(values.env && { env: [...values.env] }),
      ...(values['use-key'] && { keys: Object.fromEntries(values['use-key'].map(readKey)) }),
      ...(requires && { requires }),
    }
    const entry = withHomeVariable(given, homeFolder(values.home))
    try {
      changeConfig(file, (written) => editConfig(written, ['mcp', name], entry as Json))
    } catch (error) {
      if (pinned) rmSync(folder, { recursive: true, force: true })
      throw error
    }
    process.stdout.write(addedText(name, file, given, pinned))
    process.stderr.write(keyWarnings(values.env))
    await showFaults(name, values)
    process.stderr.write(hint('To start it and list its tools: bulkhead tools --connect\n'))
    return 0
  },
})

export const remove = defineSubcommand({
  text: 'remove a server from your configuration',
  usage: 'NAME',
  options: FOLDER_OPTIONS,
  async run({ values, positionals: [name, ...others] }) {
    if (name === undefined || others.length > 0) throw new UsageError('Name one server: bulkhead mcp remove NAME.')
    refuseName(name)
    const file = userFile(values)
    if (!hasServer(readIfPresent(file), name)) {
      throw new BulkheadError('NotFound', `"${file}" has no server "${name}".`)
    }
    changeConfig(file, (written) => removeJson(Buffer.from(written!).toString('utf8'), new Set([`/mcp/${name}`])))
    rmSync(serverFolder(values, name), { recursive: true, force: true })
    process.stdout.write(`Removed ${name} from ${visibleText(file)}.\n`)
    return 0
  },
})

function hasServer(written: Uint8Array | undefined, name: string): boolean {
  const parsed = parseJson(Buffer.from(written ?? []).toString('utf8'))
  const servers = parsed.ok && isJsonObject(parsed.value) ? parsed.value['mcp'] : undefined
  return isJsonObject(servers) && Object.hasOwn(servers, name)
}

/** Also a name of a folder. */
export function refuseName(name: string): void {
  if (TOOL_NAME_PATTERN.test(name)) return
  throw new UsageError(`"${visibleText(name)}" is not a name. Use a letter, then letters, digits, _ or -.`)
}

const serverFolder = ({ home }: HostValues, name: string): string => join(homeFolder(home), 'servers', name)

/** The workspace stays readable. undefined: the default. */
function requiresOf({ read = [], write = [], net = [] }: ValuesOf<typeof ADD_OPTIONS>): LocalServer['requires'] {
  if (read.length + write.length + net.length === 0) return undefined
  const [reads, writes] = [read.map(grantedPath), write.map(grantedPath)]
  const isWorkspace = (path: string) => path === '{workspace}'
  const all = [...reads, ...writes].some(isWorkspace) ? reads : ['{workspace}', ...reads]
  return {
    ...(reads.length + writes.length > 0 && { fs: { read: all, ...(writes.length > 0 && { write: writes }) } }),
    ...(net.length > 0 && { net: { hosts: [...net] } }),
  }
}

const KEY = /^([^=]+)=([^/]+)(\/.*)?$/s
/** All that a person can narrow in the entry. OPTIONS needs no key. */
const KEY_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

function readKey(given: string): readonly [name: string, key: NonNullable<LocalServer['keys']>[string]] {
  const [, name, host, path = '/**'] = KEY.exec(given) ?? []
  if (name === undefined || host === undefined) {
    throw new UsageError(`"${visibleText(given)}" is not NAME=HOST, such as ACME_TOKEN=api.example.com.`)
  }
  return [name, { host: host.toLowerCase(), methods: [...KEY_METHODS], paths: [path] }]
}

const keyWarnings = (env: readonly string[] = []): string => env.filter(isSecretName).map((name) =>
  `warning: the server reads the value of ${name}. If it is a key for one host, keep it out of the server: `
  + `--use-key ${name}=HOST\n`).join('')

/** The current folder is the workspace of any project, because the entry applies to all of them. */
function grantedPath(given: string): string {
  if (given.startsWith('{')) return given
  const path = resolve(given)
  if (path === process.cwd()) return '{workspace}'
  if (!existsSync(path)) throw new UsageError(`"${given}" does not exist, and cannot be granted.`)
  return path
}

function addedText(
  name: string, file: string, { command, env = [], ...entry }: LocalServer, pinned: Pinned | undefined,
): string {
  const lines = [
    `Added ${name} to ${file}.`,
    `  starts     ${command.join(' ')}`,
    ...(pinned ? [`  installed  ${pinned.installed} (${pinned.integrity})`] : []),
    `  in a jail  ${[...grantPhrases(entry), ...env.map((variable) => `reads the variable ${variable}`)].join(', ')}`,
  ]
  return `${lines.map((line) => visibleText(line)).join('\n')}\n`
}

/** What the entry lacks, as a host would report it. */
async function showFaults(name: string, values: HostValues): Promise<void> {
  const { inspect } = await import('../inspect.ts')
  await using inspection = await inspect(values)
  for (const found of inspection.host.diagnostics.filter(({ path }) => `${path}/`.startsWith(`/mcp/${name}/`))) {
    process.stderr.write(diagnosticText(found, process.stderr))
  }
}
