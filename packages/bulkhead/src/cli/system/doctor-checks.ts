import { accessSync, constants, statSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { IGNORE_FILE, type LocalServerConfig, type Wall, withHome } from '@bulkhead/contract'
import { IgnoreFiles } from '@bulkhead/loader'
import { messageOf } from '@bulkhead/kit/error-message'
import { matchSegment } from '@bulkhead/kit/glob'
import { nodeVersionFault } from '@bulkhead/kit/node-version'
import { operatorEnvironment } from '../../facade/command-environment.ts'
import { homeFolder, machinePolicyFile } from '../../facade/folders.ts'
import { callText, ruleProofs, ruleText } from '../../facade/policy/rule-proofs.ts'
import { ok, problem, type Check } from './doctor-check.ts'
import { fileChecks, permissionChecks, storeChecks, trustRootCheck } from './doctor-files.ts'
import type { HostValues } from '../host-options.ts'
import { inspect, type Inspection } from '../inspect.ts'
import { documentWords, isInThread, OF_THREADS } from '../output.ts'

/** Each check asks the code that decides when a call runs. Never rejects. */
export async function allChecks(values: HostValues): Promise<readonly Check[]> {
  const home = homeFolder(values.home)
  // Before the store is opened, which restricts its file to the owner.
  const permissions = permissionChecks(home)
  const found = await inspect(values).catch((error: unknown) => problem('folder', error, 'No command works here.'))
  const files = async () => [...await storeChecks(values), ...permissions, ...await fileChecks(home)]
  if (!('host' in found)) return [nodeCheck(), found, ...await files()]
  try {
    return [
      nodeCheck(), ...await wallChecks(found), threadCheck(found), await trustRootCheck(home, found),
      ...await files(), machineCheck(found), projectCheck(found), ...modeChecks(found), ...ignoreChecks(found),
      ...await serverChecks(found, home), ...configurationChecks(found), ...answeredChecks(found),
      ...await ruleChecks(found),
    ]
  } finally {
    await found.host.close()
  }
}

function nodeCheck(): Check {
  const fault = nodeVersionFault()
  return fault === undefined
    ? ok('Node', process.versions.node)
    : { status: 'problem', name: 'Node', found: fault, cost: 'Nothing runs.', cure: 'Install a newer Node.' }
}

async function wallChecks({ host }: Inspection): Promise<readonly Check[]> {
  try {
    const { line, walls } = await host.walls()
    return [ok('walls', line), ...walls.map(wallCheck)]
  } catch (error) {
    return [problem('isolation', error, 'Third-party tools cannot start.')]
  }
}

const AROUND = {
  process: 'third-party tools in a process', commands: 'commands', servers: 'local servers',
} as const satisfies Record<Wall['around'], string>

function wallCheck({ name: program, around, stands, reason, cost, cure, isRequired }: Wall): Check {
  const name = `${around}: ${program}`
  if (stands) return ok(name, `works around ${AROUND[around]}`)
  return {
    status: isRequired ? 'problem' : 'warning', name, found: `missing around ${AROUND[around]}: ${reason}`,
    cost: isRequired ? `sandbox.os is "require": none of them runs. Otherwise: ${cost}` : cost, cure,
  }
}

/** What no tool, command or server uses here. */
function ignoreChecks({ workspace }: Inspection): readonly Check[] {
  return (new IgnoreFiles().of([workspace])?.files ?? []).map(({ path, fault }): Check => fault === undefined
    ? ok(IGNORE_FILE, `${path} excludes files from every tool, command and server`)
    : {
      status: 'problem', name: IGNORE_FILE, found: `${path} cannot be used: ${fault}`,
      cost: 'Everything in its folder is denied to every tool, command and server.', cure: 'Correct or remove it.',
    })
}

/** A thread of the host has none of the walls. */
function threadCheck({ host }: Inspection): Check {
  const inThreads = host.extensions().filter(isInThread)
  if (inThreads.length === 0) return ok('thread', "no third-party tool runs in a thread of the host's process")
  return {
    status: 'warning', name: 'thread', found: `in the host's process: ${inThreads.map(({ id }) => id).join(', ')}`,
    cost: `For each, ${OF_THREADS}. Code that breaks out of Node has all rights of this user.`,
    cure: 'Remove "isolation": "thread" from the configuration.',
  }
}

/** The policy of this machine, which no configuration can loosen. */
export function machineCheck({ host, place: { report } }: Pick<Inspection, 'host' | 'place'>): Check {
  const name = 'machine policy'
  const policy = report.config.layers.find(({ layer }) => layer === 'machine')
  if (policy === undefined) return ok(name, `none: ${machinePolicyFile()} does not exist`)
  const { location, config } = policy
  const fault = host.diagnostics.find((found) => found.location === location)
  const { $schema: _, ...restricted } = config
  const found = `${location} restricts ${Object.keys(restricted).join(', ') || 'nothing'}`
  return fault === undefined ? ok(name, found) : {
    status: 'problem', name, found: `${fault.code}: ${fault.message} (${location})`, cost: 'No tool can be called.',
    cure: 'Ask the administrator of this machine.',
  }
}

/** The mode in which calls run unasked and are recorded, which is easily left on. */
function modeChecks({ place: { report: { config: { merged, layers } } } }: Inspection): readonly Check[] {
  if (merged.mode !== 'learn') return []
  const where = layers.findLast(({ config }) => config.mode === 'learn')?.location ?? 'the configuration'
  return [{
    status: 'warning', name: 'mode', found: `learn, set in ${where}`,
    cost: 'Calls run without a question, under the ceiling of this mode, and are recorded with their arguments.',
    cure: 'Run "bulkhead learn" to write what was learned, and remove "mode": "learn".',
  }]
}

function projectCheck({ trustStatus: { kind }, place: { workspace } }: Inspection): Check {
  const name = 'project'
  if (kind === 'nothing') return ok(name, `${workspace} has no tools or settings of its own`)
  if (kind !== 'unknown' && kind !== 'changed') return ok(name, `${workspace}: ${kind}`)
  return {
    status: 'warning', name,
    found: `${workspace} ${kind === 'unknown' ? 'is not trusted' : 'has changed since you decided'}`,
    cost: 'Its tools, settings and servers are not used.', cure: 'bulkhead trust',
  }
}

/** Of servers and documents without a diagnostic. Connects to nothing. */
async function serverChecks({ host, place }: Inspection, home: string): Promise<readonly Check[]> {
  const { workspace, report, servers: connected } = place
  const { mcp = {}, openapi = {}, lsp = {} } = report.config.merged
  const jailFault = (server: CheckedServer): Promise<string | undefined> => connected.jailFault({
    hosts: server.requires?.net?.hosts ?? [], acceptsNetwork: server.jail === 'files',
  }).catch((error: unknown) => messageOf(error))
  const isFaulty = (path: string) =>
    host.diagnostics.some((found) => found.severity === 'error' && `${found.path}/`.startsWith(`${path}/`))
  const servers = Object.entries(mcp).filter(([name]) => !isFaulty(`/mcp/${name}`))
  const languages = Object.entries(lsp).filter(([name]) => !isFaulty(`/lsp/${name}`))
  const documents = Object.entries(openapi).filter(([name]) => !isFaulty(`/openapi/${name}`))
  const check = async (kind: 'mcp' | 'lsp', name: string, server: CheckedServer): Promise<Check> =>
    serverCheck(kind, name, server, workspace, await jailFault(server))
  return [
    ...await Promise.all(servers.map(async ([name, server]) => server.type === 'remote' && server.enabled !== false
      ? ok(`mcp ${name}`, `${server.url}, not contacted`)
      : check('mcp', name, server.type === 'local' ? withHome(server, home) : server))),
    ...await Promise.all(languages.map(([name, server]) => check('lsp', name, server))),
    ...documents.map(([name, { enabled, document }]) =>
      ok(`openapi ${name}`, enabled === false ? 'disabled' : `${documentWords(document)} can be read`)),
  ]
}

/** A remote server has no command and is not checked here. */
type CheckedServer = Partial<LocalServerConfig> & { readonly enabled?: boolean | undefined }

function serverCheck(
  kind: 'mcp' | 'lsp', key: string, server: CheckedServer, workspace: string, jailFault: string | undefined,
): Check {
  const name = `${kind} ${key}`
  if (server.enabled === false) return ok(name, 'disabled')
  const [program = ''] = server.command ?? []
  const found = programPath(program, workspace)
  const cost = `The server cannot start, and ${kind === 'mcp' ? 'its tools are missing' : 'lsp cannot use it'}.`
  if (found === undefined) {
    return {
      status: 'problem', name,
      found: `"${program}" is not an executable file${program.includes('/') ? '' : ' on your PATH'}`,
      cost, cure: `Install it, or correct ${kind}.${key}.command in the configuration.`,
    }
  }
  const unset = Object.keys(server.keys ?? {}).filter((variable) => !process.env[variable])
  if (unset.length > 0) {
    return {
      status: 'problem', name, found: `uses the key ${unset.join(', ')}, and that variable is not set`,
      cost, cure: 'Set the variable for the host.',
    }
  }
  if (server.jail === false) {
    return {
      status: 'warning', name, found: `starts ${found} without a jail`,
      cost: 'The server can do everything that your account can.',
      cure: `Remove ${kind}.${key}.jail, and grant what the server needs in ${kind}.${key}.requires.`,
    }
  }
  if (jailFault !== undefined) {
    return {
      status: 'problem', name, found: `needs a jail, but ${jailFault}`,
      cost, cure: `Install bubblewrap and util-linux and allow user namespaces, or set ${kind}.${key}.jail to false.`,
    }
  }
  if (server.jail === 'files') {
    return {
      status: 'warning', name, found: `starts ${found} in a jail for files`,
      cost: 'Where the system cannot limit the server to its hosts, it reaches the whole network.',
      cure: `Install bubblewrap, and remove ${kind}.${key}.jail.`,
    }
  }
  return ok(name, `starts ${found}${keyWords(server)}`)
}

const keyWords = ({ keys = {} }: CheckedServer): string =>
  Object.entries(keys).map(([variable, { host }]) => `, and sends the key ${variable} to ${host} for it`).join('')

/** Where a local server is found, with the PATH and the folder that it starts with. */
function programPath(program: string, workspace: string): string | undefined {
  const paths = program.includes('/')
    ? [isAbsolute(program) ? program : resolve(workspace, program)]
    : operatorEnvironment(process.env).path.map((folder) => join(folder, program))
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK)
      return statSync(path).isFile()
    } catch {
      return false
    }
  })
}

/** Rules that allow answer the question of a tool that acts on this machine. Earlier versions asked all the same. */
function answeredChecks({ host, place: { report } }: Inspection): readonly Check[] {
  const local = host.tools().filter(({ mode }) => mode === 'local').map(({ name }) => name)
  const answering = report.config.layers.flatMap(({ location, config: { rules = [] } }) => rules
    .filter(({ permission, action }) => action === 'allow' && local.some((name) => matchSegment(permission, name)))
    .map(({ permission, pattern }) => `"${permission} ${pattern}" of ${location}`))
  return answering.length === 0 ? []
    : [ok('rules', `calls that these rules allow are not asked about any more: ${answering.join(', ')}`)]
}

/** What the host reports: disabled extensions, invalid settings, and rules and names that match nothing. */
function configurationChecks({ host, place: { report } }: Inspection): readonly Check[] {
  // The project, the policy of the machine and the trust file have their own checks.
  const machine = report.config.layers.find(({ layer }) => layer === 'machine')?.location
  const faults = host.diagnostics.filter(({ stage, location }) => stage !== 'trust' && location !== machine)
  if (faults.length === 0) return [ok('configuration', 'every extension, setting and name is valid')]
  return faults.map(({ severity, code, extensionId, message, location, path, cure }) => ({
    status: severity === 'error' ? 'problem' as const : 'warning' as const,
    name: extensionId ?? 'configuration', found: `${code}: ${message} (${location}${path === '' ? '' : ` at ${path}`})`,
    cure,
  }))
}

/** One call that each rule decides. */
async function ruleChecks(found: Inspection): Promise<readonly Check[]> {
  try {
    return (await ruleProofs(found.host, found.place.report.config)).map((rule) => rule.call === null
      ? {
        status: 'warning', name: 'rule', found: `${ruleText(rule)} decides none of the calls that were tried`,
        cost: 'It may have no effect.', cure: `Try a call with "bulkhead explain". The rule is ${rule.source}.`,
      }
      : ok('rule', `${ruleText(rule)} decides ${callText(rule)}`))
  } catch (error) {
    return [problem('rule', error, 'What the rules decide is not known.')]
  }
}
