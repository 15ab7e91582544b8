import type { Host } from '../../facade/create-host.ts'
import { defineSubcommand, UsageError } from '../command.ts'
import { FOLDER_OPTIONS, type HostValues, openHost } from '../host-options.ts'
import { LISTEN_OPTIONS } from './mcp-listen.ts'
import { diagnosticText } from '../output.ts'

export const LOGIN_DETAILS = `"login" prints an address to open in a browser on this machine, and waits five minutes. The
browser is redirected to a port of 127.0.0.1. Use --port if the authorization server accepts one port only, or the
browser runs elsewhere and reaches the port through a tunnel. Tokens are stored in the folder oauth of the home, in files
that only you can read. "logout" deletes them; it does not revoke them at the authorization server.`

export const login = defineSubcommand({
  text: 'sign in to a remote server of the configuration, with a browser',
  usage: 'NAME',
  options: { port: LISTEN_OPTIONS.port, ...FOLDER_OPTIONS },
  run: ({ values, positionals }) => withServer('login', positionals, values, async (host, name) => {
    const { port } = values
    const show = (url: URL) =>
      void process.stderr.write(`To sign in to ${name}, open this address in a browser on this machine:\n${url.href}\n`)
    await host.mcp.login(name, { show, ...(port !== undefined && { port }) })
    const tools = host.mcp.servers().find((server) => server.name === name)?.tools ?? 0
    return `Signed in to ${name}. It offers ${tools} ${tools === 1 ? 'tool' : 'tools'}.\n`
  }),
})

export const logout = defineSubcommand({
  text: 'delete the tokens of a remote server',
  usage: 'NAME',
  options: FOLDER_OPTIONS,
  run: ({ values, positionals }) => withServer('logout', positionals, values, async (host, name) =>
    await host.mcp.logout(name) ? `The tokens of ${name} were deleted.\n` : `There are no tokens of ${name}.\n`),
})

async function withServer(
  act: string, names: readonly string[], values: HostValues, use: (host: Host, name: string) => Promise<string>,
): Promise<number> {
  const [name, ...others] = names
  if (name === undefined || others.length > 0) throw new UsageError(`Name one server: bulkhead mcp ${act} NAME.`)
  await using host = await openHost(values)
  for (const found of host.diagnostics.filter(({ path }) => path?.startsWith('/mcp/'))) {
    process.stderr.write(diagnosticText(found, process.stderr))
  }
  process.stdout.write(await use(host, name))
  return 0
}
