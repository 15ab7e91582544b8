import { rmSync } from 'node:fs'
import { styleText } from 'node:util'
import type { ListedPool } from '@bulkhead/store-postgres'
import { poolsFolder } from '../../facade/folders.ts'
import { type CommandOptions, defineSubcommand, commaSeparated, UsageError, type ValuesOf } from '../command.ts'
import { RECORDS_OPTIONS, storeHere } from '../host-options.ts'
import { hint, printJson, table } from '../output.ts'
import { loginPlace, savePassword } from './store-login.ts'

const POOL_OPTIONS = {
  folder: {
    type: 'string', value: 'DIR', completes: 'folder',
    text: 'the folder of the password files (default: pools in the home)',
  },
  labels: { type: 'string', value: 'LABEL,…', text: 'with add: the labels that calls of the pool may demand' },
  workspaces: { type: 'string', value: 'NAME,…', text: 'with add: the workspaces that they may demand' },
  maintains: { type: 'boolean', text: 'with add: no worker, but a login for `bulkhead store maintain`' },
  ...RECORDS_OPTIONS,
} as const satisfies CommandOptions

type PoolValues = ValuesOf<typeof POOL_OPTIONS>

export const pool = defineSubcommand({
  text: 'add, list or remove logins of workers: each sees the calls of its pool only',
  usage: '(add NAME (--labels | --maintains) [--workspaces] [--folder] | list | remove NAME)',
  options: POOL_OPTIONS,
  async run({ values, positionals: [act, ...names] }) {
    const [name, ...others] = names
    if (act === 'list' && name === undefined) return list(values)
    if ((act !== 'add' && act !== 'remove') || name === undefined || others.length > 0) {
      throw new UsageError('Use pool add NAME --labels LABEL,…, pool list, or pool remove NAME.')
    }
    return act === 'add' ? add(name, values) : remove(name, values)
  },
})

async function add(name: string, values: PoolValues): Promise<number> {
  const { labels, workspaces, maintains = false } = values
  if ((labels === undefined) !== maintains) throw new UsageError('Give a new pool either --labels or --maintains.')
  const { url, postgres, fileOf } = await loginPlace(values, poolsFolder)
  const which = maintains ? 'maintenance' : { labels: commaSeparated(labels ?? ''), workspaces: commaSeparated(workspaces ?? '') }
  const { role } = await postgres.addPool(url, name, which, async ({ password }) => savePassword(fileOf(name), password, 'pool'))
  const own = postgres.tenantUrl(url, role, fileOf(name))
  if (values.json) printJson({ name, role, passwordFile: fileOf(name), url: own })
  else {
    process.stdout.write(`${styleText('green', 'added')} the pool ${name}. Its role is ${role}, and its password is in ${fileOf(name)}.\n`)
    process.stderr.write(hint(maintains ? `From time to time: bulkhead store maintain --store '${own}'\n`
      : `On its machines: bulkhead worker --store '${own}' --labels ${labels!} --ceiling FILE\n`))
  }
  return 0
}

async function list(values: PoolValues): Promise<number> {
  const { url, postgres } = await loginPlace(values, poolsFolder)
  const pools = await postgres.listPools(url)
  if (values.json) printJson({ pools })
  else if (pools.length === 0) process.stdout.write('No pools.\n')
  else {
    const rows = pools.map(({ name, role, connections, pool: which }) => [name, role, String(connections), wordsOf(which)])
    process.stdout.write(table(['NAME', 'ROLE', 'CONNECTIONS', 'SERVES'], rows))
  }
  return 0
}

const wordsOf = (which: ListedPool['pool']): string => which === 'maintenance' ? which
  : [...which.labels, ...which.workspaces.map((name) => `workspace ${name}`)].join(', ') || 'calls without labels'

async function remove(name: string, values: PoolValues): Promise<number> {
  const { url, postgres, fileOf } = await loginPlace(values, poolsFolder)
  await postgres.removePool(url, name)
  rmSync(fileOf(name), { force: true })
  if (values.json) printJson({ removed: name })
  else process.stdout.write(`${styleText('green', 'removed')} the pool ${name} and its role.\n`)
  return 0
}

export const maintain = defineSubcommand({
  text: 'remove calls, workers, packages and jobs that are old, once: for a timer, where workers have pools',
  options: RECORDS_OPTIONS,
  async run({ values: { json, ...place }, positionals: [extra] }) {
    if (extra !== undefined) throw new UsageError(`Unexpected argument "${extra}".`)
    const chosen = await storeHere(place)
    if (chosen.kind === 'file') throw new UsageError('The store is a file, which has no workers. For PostgreSQL, use --store or set BULKHEAD_STORE.')
    const { postgresPackage } = await import('../../facade/store-choice.ts')
    await (await postgresPackage()).maintainPostgres(chosen.url)
    if (json) printJson({ maintained: true })
    else process.stdout.write('Removed what is old.\n')
    return 0
  },
})
