import { mkdirSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { styleText } from 'node:util'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { writePrivateFile } from '@bulkhead/kit/private-file'
import { tenantsFolder } from '../../facade/folders.ts'
import { type CommandOptions, defineSubcommand, UsageError, type ValuesOf } from '../command.ts'
import { RECORDS_OPTIONS, storeHere } from '../host-options.ts'
import { hint, printJson, table } from '../output.ts'

const TENANT_OPTIONS = {
  folder: {
    type: 'string', value: 'DIR', completes: 'folder',
    text: 'with tenant: the folder of the password files (default: tenants in the home)',
  },
  yes: { type: 'boolean', short: 'y', text: 'with tenant remove: remove every record of it, without asking' },
  ...RECORDS_OPTIONS,
} as const satisfies CommandOptions

type TenantValues = ValuesOf<typeof TENANT_OPTIONS>

export const tenant = defineSubcommand({
  text: 'add, list or remove tenants: each has a login and records of its own',
  usage: '(add NAME [--folder] | list | remove NAME --yes)',
  options: TENANT_OPTIONS,
  async run({ values, positionals: [act, ...names] }) {
    const [name, ...others] = names
    if (act === 'list' && name === undefined) return list(values)
    if ((act !== 'add' && act !== 'remove') || name === undefined || others.length > 0) {
      throw new UsageError('Use tenant add NAME, tenant list, or tenant remove NAME --yes.')
    }
    return act === 'add' ? add(name, values) : remove(name, values)
  },
})

async function add(name: string, values: TenantValues): Promise<number> {
  const { url, postgres, fileOf, isUsual } = await here(values)
  const { role } = await postgres.addTenant(url, name, async ({ password }) => save(fileOf(name), password))
  const own = postgres.tenantUrl(url, role, fileOf(name))
  if (values.json) {
    printJson({ name, role, passwordFile: fileOf(name), url: own })
    return 0
  }
  process.stdout.write(`${styleText('green', 'added')} the tenant ${name}. Its role is ${role}, and its password is in ${fileOf(name)}.\n`)
  const folder = isUsual ? '' : `, and tenants=${resolve(values.folder!)} in the URL of the store`
  process.stderr.write(hint(`In a program: createHost({ tenant: '${name}', … }) or host.forTenant('${name}')${folder}.\n`
    + `In a shell: export BULKHEAD_STORE='${own}'\n`))
  return 0
}

function save(file: string, password: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writePrivateFile(file, `${password}\n`)
  } catch (error) {
    const why = `The password cannot be written to ${file} (${messageOf(error)}), so no tenant was added.`
    throw new BulkheadError('ConfigInvalid', `${why} Choose another --folder.`)
  }
}

async function list(values: TenantValues): Promise<number> {
  const { url, postgres } = await here(values)
  const tenants = await postgres.listTenants(url)
  if (values.json) printJson({ tenants })
  else if (tenants.length === 0) process.stdout.write('No tenants.\n')
  else {
    const rows = tenants.map(({ name, role, connections, frozen }) => [name, role, String(connections), frozen ? 'yes' : 'no'])
    process.stdout.write(table(['NAME', 'ROLE', 'CONNECTIONS', 'FROZEN'], rows))
  }
  return 0
}

async function remove(name: string, values: TenantValues): Promise<number> {
  if (!values.yes) throw new UsageError(`This removes every record of ${name}, with its audit. Add --yes.`)
  const { url, postgres, fileOf } = await here(values)
  await postgres.removeTenant(url, name)
  rmSync(fileOf(name), { force: true })
  if (values.json) printJson({ removed: name })
  else process.stdout.write(`${styleText('green', 'removed')} the tenant ${name}, its role and its records.\n`)
  return 0
}

/** The server, and where the passwords are. */
async function here({ folder, ...place }: TenantValues) {
  const chosen = await storeHere(place)
  if (chosen.kind === 'file') {
    throw new UsageError('The store is a file, which has one tenant. For PostgreSQL, use --store or set BULKHEAD_STORE.')
  }
  const { postgresPackage } = await import('../../facade/store-choice.ts')
  const postgres = await postgresPackage()
  const named = folder === undefined ? postgres.readStoreUrl(chosen.url).tenants : resolve(folder)
  const files = named ?? tenantsFolder(place.home)
  return { url: chosen.url, postgres, fileOf: (name: string) => join(files, name), isUsual: folder === undefined }
}
