import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { ANSWER_LIMITS } from '@bulkhead/contract'
import { openQuestions } from '@bulkhead/host'
import { messageOf } from '@bulkhead/kit/error-message'
import { ExposedFileError, readPrivateFile, writePrivateFile } from '@bulkhead/kit/private-file'
import { visibleText } from '@bulkhead/kit/text'
import { homeFolder } from '../../facade/folders.ts'
import { ownRing } from '../../facade/passkeys/passkey-ring.ts'
import { defineSubcommand, UsageError, type CommandOptions, type ValuesOf } from '../command.ts'
import { RECORDS_OPTIONS, withNewStore } from '../host-options.ts'
import { printJson } from '../output.ts'

const PORT = 8_766
const SECRET_VARIABLE = 'BULKHEAD_ANSWER_SECRET'
const KEY_FILE = 'answers.key'

const OPTIONS = {
  base: { type: 'string', value: 'URL', text: 'where people reach it: https, or http on this machine (default: http://localhost:PORT/)' },
  port: { type: 'string', value: 'N', whole: { least: 0, most: 65_535 }, text: `the port on loopback (default: ${PORT}; 0 is any free port)` },
  minutes: { type: 'string', value: 'N', whole: { least: 1 }, text: `how long a link works (default: ${ANSWER_LIMITS.linkMinutes})` },
  webhook: { type: 'string', value: 'URL', text: 'send each question there, signed' },
  'secret-file': {
    type: 'string', value: 'FILE', completes: 'file',
    text: `the secret of the webhook, both ways; only you may read it (default: the variable ${SECRET_VARIABLE})`,
  },
  'allow-address': {
    type: 'string', value: 'ADDRESS', multiple: true, text: 'an address of the webhook that is not public, such as 10.0.0.5:8443',
  },
  ...RECORDS_OPTIONS,
} as const satisfies CommandOptions

export const serve = defineSubcommand({
  text: 'serve links to questions, and send questions to a webhook, until it is stopped',
  usage: '',
  options: OPTIONS,
  run: ({ values }) => withNewStore(values, async (store) => {
    const { webhook, port = PORT, minutes = ANSWER_LIMITS.linkMinutes } = values
    const webhookSecret = webhook === undefined ? undefined : secretOf(values)
    const { createAnswerLinks } = await import('@bulkhead/inspector/links')
    const { serveAnswers } = await import('../../facade/serve-answers.ts')
    const questions = openQuestions(store, ownRing(values.home))
    let links: ReturnType<typeof createAnswerLinks>
    const server = await serveAnswers(() => links, port)
    try {
      const base = values.base ?? `http://localhost:${server.port}/`
      links = made(() => createAnswerLinks({
        questions, base, minutes, secret: linkSecret(values.home), ...(webhookSecret !== undefined && { webhookSecret }),
      }))
      if (values.json) printJson({ base, callback: links.callback })
      else process.stdout.write(`Serving questions at ${visibleText(base)} (127.0.0.1:${server.port}). Stop with Ctrl-C.\n`)
      const stop = new AbortController()
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
      if (webhook === undefined) await new Promise<void>((resolve) => { stop.signal.addEventListener('abort', () => resolve()) })
      else {
        const { runWebhook } = await import('../../facade/webhook.ts')
        const onFault = (error: unknown) => process.stderr.write(`The webhook failed: ${visibleText(messageOf(error))}\n`)
        const addresses = values['allow-address'] ?? []
        await runWebhook({ url: webhook, secret: webhookSecret!, addresses, questions, links, onFault }, stop.signal)
      }
      return 0
    } finally {
      await server.close()
    }
  }),
})

function made<Value>(make: () => Value): Value {
  try {
    return make()
  } catch (thrown) {
    throw new UsageError(messageOf(thrown))
  }
}

/** The variable is removed, so that no child process gets it. */
function secretOf({ 'secret-file': file }: ValuesOf<typeof OPTIONS>): string {
  const { [SECRET_VARIABLE]: variable } = process.env
  delete process.env[SECRET_VARIABLE]
  const secret = file === undefined ? variable : readSecret(file).trim()
  if (secret !== undefined && secret.length >= 32) return secret
  throw new UsageError(`A webhook needs a secret of at least 32 characters: --secret-file FILE, or the variable ${SECRET_VARIABLE}.`)
}

/** Throws UsageError. */
function readSecret(file: string): string {
  try {
    const text = readPrivateFile(file)
    if (text !== undefined) return text
  } catch (thrown) {
    if (thrown instanceof ExposedFileError) throw new UsageError(`${thrown.message} Use: chmod 600 ${file}`)
    throw new UsageError(`${file} cannot be read: ${messageOf(thrown)}`)
  }
  throw new UsageError(`There is no file ${file}.`)
}

/** Made once for each home, so that links survive a restart. */
function linkSecret(home: string | undefined): string {
  const file = join(homeFolder(home), KEY_FILE)
  const known = readPrivateFile(file)?.trim()
  if (known !== undefined && known.length >= 32) return known
  const secret = randomBytes(32).toString('base64url')
  writePrivateFile(file, `${secret}\n`)
  return secret
}
