import { styleText } from 'node:util'
import { BulkheadError } from '@bulkhead/contract'
import { isAbsent } from '@bulkhead/kit/folders'
import { visibleText } from '@bulkhead/kit/text'
import type { StoreChoice } from '../../facade/store-choice.ts'
import { type Command, defineSubcommand, UsageError } from '../command.ts'
import { HOME_OPTIONS, openChosen, RECORDS_OPTIONS, storeHere } from '../host-options.ts'
import { printJson, table } from '../output.ts'
import { copyStore, type CopyReport } from './store-copy.ts'
import { maintain, pool } from './store-pool.ts'
import { tenant } from './store-tenant.ts'

const status = defineSubcommand({
  text: 'show which store is in use, whether it answers, and the version of its tables',
  options: RECORDS_OPTIONS,
  async run({ values: { json, ...place }, positionals }) {
    refuseMore(positionals)
    const found = await statusOf(await storeHere(place))
    if (json) printJson(found)
    else {
      const rows = Object.entries(found).map(([name, value]) => [name, visibleText(String(value))])
      process.stdout.write(table(['', ''], rows).split('\n').slice(1).join('\n'))
    }
    return 0
  },
})

/** What is there. Changes nothing, and makes no store. Rejects with StoreUnavailable. */
async function statusOf(chosen: StoreChoice): Promise<Readonly<Record<string, string | number>>> {
  if (chosen.kind === 'file') {
    if (isAbsent(chosen.file)) return { kind: 'file', store: chosen.file, state: 'missing; the first call makes it' }
    const store = await openChosen(chosen)
    try {
      const { first, last } = await store.auditSpan()
      return { kind: 'file', store: chosen.file, state: 'opens', records: Math.max(0, last - first + 1) }
    } finally {
      await store.close()
    }
  }
  const { postgresPackage } = await import('../../facade/store-choice.ts')
  const { url, server, schema, known } = await (await postgresPackage()).postgresStatus(chosen.url)
  return {
    kind: 'postgres', store: url, state: schema === known ? 'ready' : 'needs: bulkhead store migrate', server,
    tables: schema, known,
  }
}

const migrate = defineSubcommand({
  text: 'make or update the tables, as a role that may: hosts then need fewer rights',
  options: RECORDS_OPTIONS,
  async run({ values: { json, ...place }, positionals }) {
    refuseMore(positionals)
    const chosen = await storeHere(place)
    if (chosen.kind === 'file') {
      throw new UsageError('The store is a file, which each host updates itself. For PostgreSQL, use --store or set BULKHEAD_STORE.')
    }
    const { postgresPackage } = await import('../../facade/store-choice.ts')
    const { from, to } = await (await postgresPackage()).migratePostgres(chosen.url)
    if (json) printJson({ from, to })
    else process.stdout.write(from === to ? `The tables have version ${to} already.\n`
      : `${styleText('green', 'migrated')} the tables from version ${from} to ${to}.\n`)
    return 0
  },
})

const copy = defineSubcommand({
  text: 'copy all records to an empty store: a file, or the URL of a PostgreSQL server',
  usage: 'FROM TO',
  options: HOME_OPTIONS,
  async run({ values: { json = false }, positionals: [from, to, ...more] }) {
    refuseMore(more)
    if (from === undefined || to === undefined) throw new UsageError('Missing store. Use: bulkhead store copy FROM TO.')
    const { namedStore } = await import('../../facade/store-choice.ts')
    const source = namedStore(from)
    await requireThere(source)
    const report = await copyStore(source, namedStore(to), json ? () => undefined
      : (text) => void process.stderr.write(`${text}\n`))
    if (json) printJson(report)
    else process.stdout.write(reportText(report))
    return 0
  },
})

/** To open it would make an empty one. Rejects with StoreUnavailable. */
async function requireThere(source: StoreChoice): Promise<void> {
  if (source.kind === 'file') {
    if (isAbsent(source.file)) throw new BulkheadError('StoreUnavailable', `There is no store at ${source.file}.`)
    return
  }
  const { postgresPackage } = await import('../../facade/store-choice.ts')
  const { url, schema } = await (await postgresPackage()).postgresStatus(source.url)
  if (schema === 0) throw new BulkheadError('StoreUnavailable', `There is no store at ${url}: its schema has no tables.`)
}

const reportText = ({ records, changes, audit }: CopyReport): string =>
  `${styleText('green', 'copied')} ${records} records, ${changes} changes and ${audit} records of the audit, which is `
  + 'intact in both stores. Stop the hosts of the old store before you use the new one.\n'

export const store: Command = {
  subcommands: { status, migrate, copy, tenant, pool, maintain },
  exits: ['if it worked', 'if the store cannot be used'],
  examples: [
    { command: 'bulkhead store status', text: 'where approvals and the audit are, and whether that answers' },
    {
      command: 'bulkhead store copy ~/.bulkhead/bulkhead.db postgres://bulkhead@db.example/agents',
      text: 'move from a file to PostgreSQL',
    },
    { command: 'bulkhead store tenant add acme', text: 'a login of its own for a customer, who sees nothing of others' },
    { command: 'bulkhead store pool add gpu --labels gpu,region=eu', text: 'a login for workers, which sees the calls of its pool only' },
  ],
}

function refuseMore(more: readonly string[]): void {
  if (more.length > 0) throw new UsageError(`Unexpected argument "${more.join(' ')}".`)
}
