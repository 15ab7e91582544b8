import { rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { styleText } from 'node:util'
import { tenantsFolder } from '../../facade/folders.ts'
import { type CommandOptions, defineSubcommand, UsageError, type ValuesOf } from '../command.ts'
import { RECORDS_OPTIONS } from '../host-options.ts'
import { hint, printJson, table } from '../output.ts'
import { loginPlace, savePassword } from './store-login.ts'

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
  const { url, postgres, fileOf, isUsual } = await loginPlace(values, tenantsFolder)
  const { role } = await postgres.addTenant(url, name, async ({ password }) => savePassword(fileOf(name), password, 'tenant'))
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

async function list(values: TenantValues): Promise<number> {
  const { url, postgres } = await loginPlace(values, tenantsFolder)
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
  const { url, postgres, fileOf } = await loginPlace(values, tenantsFolder)
  await postgres.removeTenant(url, name)
  rmSync(fileOf(name), { force: true })
  if (values.json) printJson({ removed: name })
  else process.stdout.write(`${styleText('green', 'removed')} the tenant ${name}, its role and its records.\n`)
  return 0
}
