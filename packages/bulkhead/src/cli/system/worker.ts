import { readFileSync } from 'node:fs'
import { styleText } from 'node:util'
import { BulkheadError, type Ceiling } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { parseJson } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { fleetFile, homeFolder, machineKeyFile } from '../../facade/folders.ts'
import { type Command, defineSubcommand, ENDING_SIGNALS, commaSeparated, UsageError } from '../command.ts'
import { HOME_OPTIONS, RECORDS_OPTIONS } from '../host-options.ts'
import { printJson, table } from '../output.ts'

const serve = defineSubcommand({
  text: 'serve calls of hosts on the same store, until it is stopped',
  usage: '--ceiling FILE --labels LABEL,… [--workspace NAME=DIR] [--capacity] [--health]',
  options: {
    ceiling: { type: 'string', value: 'FILE', completes: 'file', text: 'the most that any call may do here, as JSON' },
    labels: { type: 'string', value: 'LABEL,…', text: 'what this machine has, such as gpu,region=eu' },
    workspace: {
      type: 'string', value: 'NAME=DIR', multiple: true, completes: 'folder',
      text: 'a folder that calls may work on, and its name',
    },
    capacity: {
      type: 'string', value: 'N', whole: { least: 1, most: 1_000 }, text: 'how many calls run at once (default: 8)',
    },
    health: {
      type: 'string', value: 'PORT', whole: { least: 0, most: 65_535 },
      text: 'answer GET /health on this port of the loopback interface',
    },
    ...RECORDS_OPTIONS,
  },
  async run({ values, positionals }) {
    refuseMore(positionals)
    const { json, ceiling, labels, workspace = [], capacity, health, home, store } = values
    if (ceiling === undefined || labels === undefined) throw new UsageError('A worker needs --ceiling and --labels.')
    const { createWorker } = await import('../../facade/create-worker.ts')
    const say = (line: object, text: string) => process.stdout.write(json ? `${JSON.stringify(line)}\n` : `${visibleText(text)}\n`)
    const worker = await createWorker({
      ceiling: readCeiling(ceiling), labels: commaSeparated(labels), workspaces: Object.fromEntries(workspace.map(namedFolder)),
      ...(capacity !== undefined && { capacity }), ...(health !== undefined && { health }),
      ...(home !== undefined && { home }), ...(store !== undefined && { store }),
      onCall: ({ tool, call, error, ms }) => say(
        { type: 'call', tool, call, ms: Math.round(ms), error: error ?? null },
        `${tool} ${call} ${error ? `${error.code}: ${error.message}` : 'ok'} (${Math.round(ms)} ms)`,
      ),
    })
    try {
      const { info, publicKey, healthPort } = worker
      say(
        { type: 'ready', ...info, publicKey, healthPort: healthPort ?? null },
        `Worker ${info.id} serves calls with ${info.labels.join(', ')}. Hosts must trust its key: ${publicKey}`,
      )
      await stopped()
      say({ type: 'draining' }, 'Draining: running calls go on. A second signal ends them.')
      await Promise.race([worker.drain(), stopped()])
    } finally {
      await worker.close()
    }
    return 0
  },
})

/** Resolves with the next signal that stops a command. */
function stopped(): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      for (const signal of ENDING_SIGNALS) process.off(signal, stop)
      resolve()
    }
    for (const signal of ENDING_SIGNALS) process.on(signal, stop)
  })
}

function namedFolder(text: string): readonly [name: string, folder: string] {
  const at = text.indexOf('=')
  if (at < 1 || at === text.length - 1) throw new UsageError(`--workspace needs NAME=DIR, not "${text}".`)
  return [text.slice(0, at), text.slice(at + 1)]
}

/** Throws ConfigInvalid. `createWorker` checks the form. */
function readCeiling(file: string): Ceiling {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new BulkheadError('ConfigInvalid', `The ceiling at ${file} cannot be read: ${messageOf(error)}`)
  }
  const parsed = parseJson(text)
  if (parsed.ok) return parsed.value as Ceiling
  throw new BulkheadError('ConfigInvalid', `The ceiling at ${file} ${parsed.fault.message}`)
}

const key = defineSubcommand({
  text: 'print the public key of this machine, and make the key where there is none',
  options: HOME_OPTIONS,
  async run({ values: { json, home }, positionals }) {
    refuseMore(positionals)
    const { openMachineKey } = await import('@bulkhead/workers')
    const file = machineKeyFile(homeFolder(home))
    const { publicKey } = openMachineKey(file)
    if (json) printJson({ key: publicKey, file })
    else process.stdout.write(`${publicKey}\n`)
    return 0
  },
})

const trust = defineSubcommand({
  text: 'accept calls of a caller, results of a worker, or a package without a pinned signature',
  usage: 'caller | worker | package NAME VALUE',
  options: {
    ...HOME_OPTIONS,
    tenant: { type: 'string', value: 'NAME', text: 'with a key: only for calls of this tenant (default: any)' },
  },
  async run({ values: { json, home, tenant }, positionals: [kind, name, value, ...more] }) {
    if (name === undefined || value === undefined) throw new UsageError('Name what to trust: caller, worker or package, a name, and its key or digest.')
    refuseMore(more)
    const { addToFleet } = await import('@bulkhead/workers')
    const which = kindOf(kind)
    if (tenant !== undefined && which === 'package') throw new UsageError('--tenant is for keys.')
    addToFleet(fleetFile(homeFolder(home)), which, name, value, tenant)
    if (json) printJson({ trusted: { kind: which, name, value } })
    else process.stdout.write(`${styleText('green', 'trusted')} the ${which} ${name}.\n`)
    return 0
  },
})

const distrust = defineSubcommand({
  text: 'remove what was trusted. It counts for the next call',
  usage: 'caller | worker | package NAME',
  options: HOME_OPTIONS,
  async run({ values: { json, home }, positionals: [kind, name, ...more] }) {
    if (name === undefined) throw new UsageError('Name what to remove: caller, worker or package, and its name.')
    refuseMore(more)
    const { removeFromFleet } = await import('@bulkhead/workers')
    const which = kindOf(kind)
    removeFromFleet(fleetFile(homeFolder(home)), which, name)
    if (json) printJson({ removed: { kind: which, name } })
    else process.stdout.write(`Removed the ${which} ${name}.\n`)
    return 0
  },
})

const trusted = defineSubcommand({
  text: 'list the callers, workers and packages that this machine trusts',
  options: HOME_OPTIONS,
  async run({ values: { json, home }, positionals }) {
    refuseMore(positionals)
    const { readFleet } = await import('@bulkhead/workers')
    const fleet = readFleet(fleetFile(homeFolder(home)))
    const rows = [
      ...fleet.callers.map(({ name, key: value, tenant = 'any' }) => ['caller', name, tenant, value]),
      ...fleet.workers.map(({ name, key: value, tenant = 'any' }) => ['worker', name, tenant, value]),
      ...fleet.packages.map(({ name, digest }) => ['package', name, '-', digest]),
    ]
    if (json) printJson(fleet)
    else if (rows.length === 0) process.stdout.write('This machine trusts no caller, worker or package. Add one: bulkhead worker trust\n')
    else process.stdout.write(table(['KIND', 'NAME', 'TENANT', 'KEY OR DIGEST'], rows))
    return 0
  },
})

/** As `FLEET_KINDS` of the package, which is loaded later. */
const KINDS = ['caller', 'worker', 'package'] as const

function kindOf(kind: string | undefined): (typeof KINDS)[number] {
  const found = KINDS.find((one) => one === kind)
  if (found) return found
  throw new UsageError(`"${kind}" cannot be trusted. Name a caller, a worker or a package.`)
}

function refuseMore([extra]: readonly string[]): void {
  if (extra !== undefined) throw new UsageError(`There is no argument "${extra}".`)
}

export const worker: Command = {
  subcommands: { '': serve, key, trust, distrust, trusted },
  operands: {
    'caller | worker | package': { text: 'what is trusted', values: KINDS },
    NAME: { text: 'what you call it' },
    VALUE: { text: 'a public key, as `bulkhead worker key` prints it, or the digest of a package' },
  },
  details: `The worker and the hosts whose calls it serves use one store, and trust the keys of each other. What a call may do is
bounded by its ticket, by the ceiling, and by the configuration of this machine. SIGTERM lets running calls end.`,
  examples: [
    {
      command: 'bulkhead worker --store postgres://db.example/agents --ceiling ceiling.json --labels gpu',
      text: 'serve calls of tools that need a GPU',
    },
    { command: 'bulkhead worker key', text: 'print the key that others have to trust' },
    { command: 'bulkhead worker trust caller web-1 ed25519:…', text: 'accept calls of a host' },
  ],
}
