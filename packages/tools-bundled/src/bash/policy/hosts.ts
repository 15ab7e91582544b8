import { isPlain, type NestedCommand, type Word } from '../parse/plan.ts'
import type { CommandContext } from './reading-commands.ts'
import { gitSubcommandAt } from './reading-programs.ts'
import { innermost } from './wrappers.ts'

type Hosts = readonly string[] | 'all'
type Needs = (args: readonly string[], context: CommandContext) => Hosts | undefined

const PYPI = ['pypi.org', 'files.pythonhosted.org']
const CRATES = ['index.crates.io', 'static.crates.io']
const GO = ['proxy.golang.org', 'sum.golang.org']
const GITHUB = ['api.github.com', 'github.com']
/** In parts, because packages of ours name no registry as a whole: what npm is configured with counts. */
const NPM = ['registry', 'npmjs', 'org'].join('.')

/** If the first word that is no option is one of these. */
const forSubcommands = (subcommands: string, needs: Needs): Needs => (args, context) =>
  subcommands.split(' ').includes(args.find((arg) => !arg.startsWith('-')) ?? '') ? needs(args, context) : undefined

const npm = forSubcommands(
  'install i ci add update up upgrade outdated view info show audit publish exec x dlx create init search ping fund',
  (args, { readStart }) => [hostOf(optionValue(args, '--registry') ?? npmRegistry(readStart?.('.npmrc'))) ?? NPM],
)
const pip = forSubcommands('install download wheel index search', (args) => {
  const index = optionValue(args, '--index-url') ?? optionValue(args, '-i')
  return index === undefined ? PYPI : urlHosts([index])
})

/** Programs that reach hosts, with those that they usually reach. */
const NEEDS: ReadonlyMap<string, Needs> = new Map<string, Needs>([
  ['npm', npm], ['pnpm', npm], ['bun', npm],
  ['yarn', (args, context) => args.length === 0 ? [NPM] : npm(args, context)],
  ['npx', (args, context) => npm(['exec', ...args], context)], ['pip', pip], ['pip3', pip],
  ['uv', forSubcommands('add sync lock pip tool run', () => PYPI)],
  ['poetry', forSubcommands('add install update lock', () => PYPI)],
  ['cargo', forSubcommands('build check test run add install update fetch publish search', () => CRATES)],
  ['go', forSubcommands('get install mod build test run download', () => GO)],
  ['gh', () => GITHUB], ['git', gitHosts], ['curl', urlHosts], ['wget', urlHosts],
  ...['ssh', 'scp', 'sftp', 'rsync', 'nc', 'ncat', 'telnet', 'ftp', 'ping', 'dig', 'nslookup', 'host', 'traceroute']
    .map((name): [string, Needs] => [name, () => 'all']),
])

/** The hosts that the commands of a line seem to need, for the question. Undefined if they seem to need none. */
export function hostsOf(commands: readonly NestedCommand[], context: CommandContext): Hosts | undefined {
  const found = commands.flatMap(({ words }) => ofCommand(innermost(words), context) ?? [])
  if (found.length === 0) return undefined
  return found.includes('all') ? 'all' : [...new Set(found)].toSorted()
}

function ofCommand([program, ...args]: readonly Word[], context: CommandContext): Hosts | undefined {
  const needs = NEEDS.get(program?.text ?? '')
  // A word that only the shell knows can name any host.
  return needs?.(args.map(({ text }) => text), context)
    ?? (needs === urlHosts && !args.every(isPlain) ? 'all' : undefined)
}

/** A host name as a relay takes it. */
const HOST = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*(?::\d{1,5})?$/i

/** The host of an HTTP URL, with its port unless it is the usual one. */
function hostOf(url: string | undefined): string | undefined {
  const parsed = url === undefined ? null : URL.parse(url)
  return parsed !== null && /^https?:$/.test(parsed.protocol) && HOST.test(parsed.host) ? parsed.host : undefined
}

function urlHosts(args: readonly string[]): Hosts | undefined {
  const named = args.filter((arg) => /^(?:[a-z+]+:\/\/|\w[\w-]*(?:\.[\w-]+)+(?:[:/]|$))/i.test(arg))
  const hosts = named.map((arg) => hostOf(/^[a-z+]+:\/\//i.test(arg) ? arg : `https://${arg}`))
  if (hosts.length === 0) return undefined
  return hosts.every((host) => host !== undefined) ? hosts : 'all'
}

function optionValue(args: readonly string[], name: string): string | undefined {
  const at = args.findIndex((arg) => arg === name || arg.startsWith(`${name}=`))
  return at < 0 ? undefined : args[at] === name ? args[at + 1] : args[at]!.slice(name.length + 1)
}

const npmRegistry = (settings = ''): string | undefined => /^[ \t]*registry[ \t]*=[ \t]*(\S+)/m.exec(settings)?.[1]

/** Subcommands of git that reach a remote. */
const REMOTE = /^(?:push|pull|fetch|clone|ls-remote|submodule|lfs)$/

function gitHosts(args: readonly string[], { readStart }: CommandContext): Hosts | undefined {
  const at = gitSubcommandAt(args)
  const [subcommand = '', ...rest] = args.slice(at)
  const asksRemote = subcommand === 'remote' && /^(?:show|update|prune)$/.test(rest[0] ?? '')
  if (!REMOTE.test(subcommand) && !asksRemote) return undefined
  const operands = rest.filter((arg) => !arg.startsWith('-'))
  const url = operands.find((arg) => /^[a-z+]+:\/\/|^[\w.-]+@[\w.-]+:/i.test(arg))
  if (url !== undefined) return remoteHosts([url])
  // A copy of a folder needs no network.
  if (subcommand === 'clone') return undefined
  const urls = remoteUrls(readStart?.('.git/config') ?? '')
  const named = urls.filter(({ name }) => operands.includes(name))
  return remoteHosts((named.length > 0 ? named : urls).map((remote) => remote.url))
}

/** Only HTTP passes a relay. */
function remoteHosts(urls: readonly string[]): Hosts {
  const hosts = urls.map((url) => hostOf(url))
  return hosts.length > 0 && hosts.every((host) => host !== undefined) ? hosts : 'all'
}

function remoteUrls(settings: string): readonly { readonly name: string; readonly url: string }[] {
  let name: string | undefined
  return settings.split('\n').flatMap((line) => {
    const section = /^\s*\[\s*(\w+)(?:\s+"([^"]*)")?\s*\]/.exec(line)
    if (section !== null) name = section[1]!.toLowerCase() === 'remote' ? section[2] : undefined
    const url = /^\s*(?:push)?url\s*=\s*(\S+)/i.exec(line)?.[1]
    return name === undefined || url === undefined ? [] : [{ name, url }]
  })
}
