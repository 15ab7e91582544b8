import { BulkheadError } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { type CommandOptions, defineSubcommand, UsageError, type ValuesOf } from '../command.ts'
import { FOLDER_OPTIONS } from '../host-options.ts'
import { hint, printJson, table } from '../output.ts'
import { refuseName } from './mcp-add.ts'
import { changeTokens, digestOfToken, isRole, newToken, readTokens, type TokenEntry, tokenFile } from '../token-book.ts'

export const TOKEN_DETAILS = `"token add" prints a new token for one client, once; the home keeps only its digest, in
mcp-tokens.json. "token revoke" ends the sessions and streams of its client. Running servers notice both within a
second.`

const TOKEN_OPTIONS = {
  role: {
    type: 'string', value: 'ROLE',
    text: 'with token add: the role of its sessions, for flags such as allow_bash_ROLE (default: agent)',
  },
  json: { type: 'boolean', text: 'with token: print JSON' },
  ...FOLDER_OPTIONS,
} as const satisfies CommandOptions

type TokenValues = ValuesOf<typeof TOKEN_OPTIONS>

export const token = defineSubcommand({
  text: 'add, list or revoke tokens for clients over HTTP',
  usage: '(add NAME [--role] | list | revoke NAME)',
  options: TOKEN_OPTIONS,
  async run({ values, positionals: [act, ...names] }) {
    if (values.role !== undefined && act !== 'add') throw new UsageError('--role requires "token add".')
    if (act === 'list' && names.length === 0) return list(values)
    const [name, ...others] = names
    if ((act !== 'add' && act !== 'revoke') || name === undefined || others.length > 0) {
      throw new UsageError('Use token add NAME, token list, or token revoke NAME.')
    }
    refuseName(name)
    return act === 'add' ? add(name, values) : revoke(name, values)
  },
})

async function add(name: string, { home, role, json }: TokenValues): Promise<number> {
  if (role !== undefined && !isRole(role)) {
    throw new UsageError(`"${visibleText(role)}" is not a role. Use letters, digits, _ or -.`)
  }
  const secret = newToken()
  const file = tokenFile(home)
  const entry: TokenEntry = {
    name, ...(role !== undefined && { role }), sha256: digestOfToken(secret), created: new Date().toISOString(),
  }
  await changeTokens(file, (before) => {
    if (!before.some((one) => one.name === name)) return [...before, entry]
    const message = `There is already a token "${name}". Revoke it first: bulkhead mcp token revoke ${name}`
    throw new BulkheadError('RegistrationConflict', message)
  })
  if (json) {
    printJson({ name, role: role ?? null, token: secret })
    return 0
  }
  const withRole = role === undefined ? '' : `, with the role ${role}`
  process.stdout.write(`Added the token ${name}${withRole}.\nAuthorization: Bearer ${secret}\n`)
  process.stderr.write(hint('Copy it now: it is not stored.\n'))
  return 0
}

function list({ home, json }: TokenValues): number {
  const tokens = readTokens(tokenFile(home)).map(({ name, role = null, created }) => ({ name, role, created }))
  if (json) printJson({ tokens })
  else if (tokens.length === 0) process.stdout.write('No tokens.\n')
  else {
    const rows = tokens.map(({ name, role, created }) => [name, role ?? '-', created])
    process.stdout.write(table(['NAME', 'ROLE', 'ADDED'], rows))
  }
  return 0
}

async function revoke(name: string, { home, json }: TokenValues): Promise<number> {
  const file = tokenFile(home)
  await changeTokens(file, (before) => {
    if (before.some((one) => one.name === name)) return before.filter((one) => one.name !== name)
    throw new BulkheadError('NotFound', `There is no token "${name}" in ${file}.`)
  })
  if (json) printJson({ revoked: name })
  else process.stdout.write(`Revoked the token ${name}.\n`)
  return 0
}
