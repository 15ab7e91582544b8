import { visibleText } from '@bulkhead/kit/text'
import { accountName, homeFolder } from '../../facade/folders.ts'
import { canonicalFolder } from '../../facade/loader-options.ts'
import { type CommandOptions, defineCommand, ENDING_SIGNALS } from '../command.ts'
import { foldersOf, openHost, PLACE_OPTIONS, STORE_OPTIONS } from '../host-options.ts'
import { hint, printJson } from '../output.ts'
import { freshLink, linkSocket, offerLinks } from './inspect-link.ts'
import { addressOptions, listenFault } from './mcp-listen.ts'

const PORT = 8770

const OPTIONS = {
  decide: {
    type: 'boolean', text: 'let people on the page answer questions, switch tools and capture (default: they only read)',
  },
  link: { type: 'boolean', text: 'print a fresh link to the inspector of this folder that runs, and exit' },
  port: {
    type: 'string', value: 'N', whole: { least: 0, most: 65_535 }, text: `the port (default: ${PORT}; 0 is any free port)`,
  },
  host: {
    type: 'string', value: 'ADDRESS',
    text: 'the address to listen on (default: 127.0.0.1)\nan address that other machines can reach needs --cert and '
      + '--key, or --insecure',
  },
  origin: {
    type: 'string', value: 'URL', multiple: true,
    text: 'where browsers reach it besides this machine, such as https://ops.example (repeatable)',
  },
  cert: { type: 'string', value: 'FILE', completes: 'file', text: 'a certificate (PEM)' },
  key: { type: 'string', value: 'FILE', completes: 'file', text: 'the key of the certificate (PEM)' },
  insecure: { type: 'boolean', text: 'with --host: allow clear text on the network' },
  ...PLACE_OPTIONS,
  ...STORE_OPTIONS,
} as const satisfies CommandOptions

export const inspect = defineCommand({
  options: OPTIONS,
  details: `The page shows what waits for a person, the calls of every session, tools, rules and health. With the store of the
home it shows the sessions of all processes. The printed address signs in one tab, once, within five minutes. It ends with
Ctrl-C, and every tab is signed out then.`,
  exits: ['when it was stopped', 'if it cannot listen, or no inspector runs for --link'],
  examples: [
    { command: 'bulkhead inspect', text: 'look at what your agents do' },
    { command: 'bulkhead inspect --decide', text: 'and answer their questions' },
    { command: 'bulkhead inspect --link', text: 'a link for another tab' },
  ],
  async run({ values }) {
    const { decide = false, link = false, port = PORT, origin = [], json } = values
    const home = homeFolder(values.home)
    const socket = linkSocket(home, await canonicalFolder(foldersOf(values).workspace))
    if (link) {
      const fresh = await freshLink(socket)
      if (json) printJson({ url: fresh })
      else process.stdout.write(`${visibleText(fresh)}\n`)
      return 0
    }
    const address = await addressOptions(values)
    await using host = await openHost(values, 'no sessions', true)
    const [{ createInspector }, { listen }] = await Promise.all([
      import('../../facade/inspector/create-inspector.ts'), import('@bulkhead/inspector'),
    ])
    const inspector = createInspector(host, { decide, origins: origin, by: `${accountName()} in the inspector` })
    const listening = await listen((request) => inspector.fetch(request), { ...address, port }).catch((error: unknown) => {
      throw listenFault(error, { ...address, port })
    })
    const at = origin[0] ?? listening.url
    const stop = await offerLinks(home, socket, () => inspector.link(at)).catch(async (error: unknown) => {
      await listening.close()
      throw error
    })
    const first = inspector.link(at)
    if (json) printJson({ url: first, decide })
    else {
      process.stdout.write(`${first}\n`)
      process.stderr.write(hint(`The link signs in one tab, within five minutes. Another one: bulkhead inspect --link\n`
        + (decide ? '' : 'The page only reads. To answer questions on it, add --decide.\n')))
    }
    await new Promise<void>((resolve) => {
      for (const signal of ENDING_SIGNALS) process.once(signal, () => resolve())
    })
    stop()
    inspector.close()
    await listening.close()
    return 0
  },
})
