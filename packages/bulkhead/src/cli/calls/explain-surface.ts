import { UsageError } from '../command.ts'
import { openHost, type HostValues } from '../host-options.ts'
import { jsonText, table } from '../output.ts'

/** What a session may use, whatever it calls. */
export async function explainSurface(
  values: HostValues & { readonly agent?: string | undefined; readonly json?: boolean | undefined },
  name: string | undefined,
): Promise<number> {
  if (name !== undefined) throw new UsageError('--surface is about all tools of a session. Leave the name out.')
  const { agent } = values
  await using host = await openHost(values, 'no sessions')
  const surface = (await host.openSession(agent === undefined ? {} : { agent })).surface()
  const rows = surface.items.map(({ tools, agent: isOfAgent }, index) =>
    [surface.words[index]!, [...tools, ...(isOfAgent ? [`the agent ${agent!}`] : [])].join(', ')])
  process.stdout.write(values.json ? jsonText(surface) : table(['MAY', 'FOR'], rows))
  return 0
}
