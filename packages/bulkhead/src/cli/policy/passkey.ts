import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import { changePasskeys, passkeyFile, readPasskeys, type OwnPasskey } from '../../facade/passkeys/passkey-file.ts'
import { defineSubcommand, ENDING_SIGNALS, UsageError, type Command, type CommandOptions } from '../command.ts'
import { HOME_OPTIONS } from '../host-options.ts'
import { hint, printJson, table } from '../output.ts'

const NAME = /^[\w][\w .@-]{0,63}$/

const ADD_OPTIONS = {
  base: {
    type: 'string', value: 'URL',
    text: 'where the browser reaches the page: https, or http on localhost (default: http://localhost:PORT/)\n'
      + 'a passkey is for the name in it, so give the name of the page or of the links that ask for it',
  },
  port: { type: 'string', value: 'N', whole: { least: 0, most: 65_535 }, text: 'the port on loopback (default: any free port)' },
  ...HOME_OPTIONS,
} as const satisfies CommandOptions

const add = defineSubcommand({
  text: 'serve a page on which your browser makes a passkey, until it has',
  usage: '[NAME]',
  options: ADD_OPTIONS,
  async run({ values, positionals: [given, ...more] }) {
    if (more.length > 0) throw new UsageError(`Unexpected argument "${more.join(' ')}". Put quotes around a name with spaces.`)
    const file = passkeyFile(values.home)
    const before = readPasskeys(file)?.passkeys ?? []
    const name = given === undefined ? freeName(before) : requireName(given, before)
    const [{ createRegistration }, { serveAnswers }] = await Promise.all([
      import('@bulkhead/inspector/passkeys'), import('../../facade/serve-answers.ts'),
    ])
    let registration: ReturnType<typeof createRegistration>
    const added = Promise.withResolvers<OwnPasskey | undefined>()
    const server = await serveAnswers(() => registration, values.port ?? 0)
    try {
      registration = made(() => createRegistration({
        base: values.base ?? `http://localhost:${server.port}/`, name, known: before.filter(isKept).map(({ id }) => id),
        async add(passkey) {
          const whole = { name, ...passkey, created: new Date().toISOString() }
          await changePasskeys(file, (passkeys) => [...passkeys.filter(({ id }) => id !== whole.id), whole])
          // The page gets its answer first.
          setImmediate(() => added.resolve(whole))
        },
      }))
      if (values.json) printJson({ url: registration.link })
      else {
        process.stdout.write(`${registration.link}\n`)
        process.stderr.write(hint(`Open it in the browser that gets the passkey, on 127.0.0.1:${server.port}. Stop with Ctrl-C.\n`))
      }
      for (const signal of ENDING_SIGNALS) process.once(signal, () => added.resolve(undefined))
      const passkey = await added.promise
      if (passkey === undefined) return 1
      if (values.json) printJson(shown(passkey))
      else process.stdout.write(visibleText(`Added the passkey ${name} for ${passkey.rpId}.`) + '\n')
      return 0
    } finally {
      await server.close()
    }
  },
})

const list = defineSubcommand({
  text: 'list your passkeys, removed ones too',
  usage: '',
  options: HOME_OPTIONS,
  async run({ values }) {
    const passkeys = readPasskeys(passkeyFile(values.home))?.passkeys ?? []
    if (values.json) printJson({ passkeys: passkeys.map(shown) })
    else if (passkeys.length === 0) process.stdout.write('No passkeys. To make one: bulkhead passkey add\n')
    else {
      const rows = passkeys.map(({ name, rpId, created, removed }) => [name, rpId, created, removed ?? '-'])
      process.stdout.write(table(['NAME', 'FOR', 'ADDED', 'REMOVED'], rows))
    }
    return 0
  },
})

const remove = defineSubcommand({
  text: 'remove a passkey: it counts no more, and the audit can still be verified with it',
  usage: 'NAME',
  options: HOME_OPTIONS,
  async run({ values, positionals: [name, ...more] }) {
    if (name === undefined || more.length > 0) throw new UsageError('Name one passkey. Use: bulkhead passkey remove NAME.')
    const file = passkeyFile(values.home)
    await changePasskeys(file, (before) => {
      if (!before.some((one) => one.name === name && isKept(one))) {
        throw new BulkheadError('NotFound', `There is no passkey "${visibleText(name)}" in ${file}.`)
      }
      const removed = new Date().toISOString()
      return before.map((one) => one.name === name && isKept(one) ? { ...one, removed } : one)
    })
    if (values.json) printJson({ removed: name })
    else process.stdout.write(visibleText(`Removed the passkey ${name}.`) + '\n')
    return 0
  },
})

export const passkey: Command = {
  subcommands: { add, list, remove },
  operands: { NAME: { text: 'a name of your choice' } },
  details: `A rule with "passkey": true lets a call run only if a person answers with one of these. They are in passkeys.json of the
home, which no tool and no store can change. Who can use your account can add one.`,
  exits: ['on success', 'if no passkey was added, or the name is not known'],
  examples: [
    { command: 'bulkhead passkey add laptop', text: 'make a passkey for pages on this machine' },
    { command: 'bulkhead passkey list', text: 'which ones there are' },
    { command: 'bulkhead passkey add phone --base https://ops.example/passkeys/ --port 8767', text: 'behind a proxy with a certificate' },
  ],
}

const isKept = ({ removed }: OwnPasskey): boolean => removed === undefined

function freeName(passkeys: readonly OwnPasskey[]): string {
  const taken = new Set(passkeys.filter(isKept).map(({ name }) => name))
  for (let count = 1; ; count++) {
    const name = `passkey ${count}`
    if (!taken.has(name)) return name
  }
}

function requireName(name: string, passkeys: readonly OwnPasskey[]): string {
  if (!NAME.test(name)) {
    throw new UsageError(`"${visibleText(name)}" is no name for a passkey. Use up to 64 letters, digits, spaces, _, ., @ or -.`)
  }
  if (!passkeys.some((one) => one.name === name && isKept(one))) return name
  throw new BulkheadError('RegistrationConflict', `There is already a passkey "${name}". Remove it first: bulkhead passkey remove "${name}"`)
}

/** Without what only checks need. */
const shown = ({ name, id, rpId, origin, created, removed }: OwnPasskey): object =>
  ({ name, id, rpId, origin, created, ...(removed !== undefined && { removed }) })

function made<Value>(make: () => Value): Value {
  try {
    return make()
  } catch (thrown) {
    throw new UsageError(messageOf(thrown))
  }
}
