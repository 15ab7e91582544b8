import { basename } from 'node:path'
import type { AgentDescriptor } from '@bulkhead/contract'
import { defineCommand } from '../command.ts'
import { COMMON_OPTIONS, openHost } from '../host-options.ts'
import { diagnosticText, printJson, table } from '../output.ts'

export const agents = defineCommand({
  options: COMMON_OPTIONS,
  details: `Columns: LAYER is the origin of the agent: a file of yours, or of the project if you trust it. TOOLS are those
that its sessions are offered. ROOTS are its further folders. An agent that cannot be used is "invalid".`,
  examples: [
    { command: 'bulkhead agents', text: 'every agent that a session can be opened for' },
    { command: 'bulkhead agents --json', text: 'their whole manifests, for a script' },
  ],

  async run({ values }) {
    await using host = await openHost(values)
    const listed = host.agents()
    const places = new Set(listed.map(({ location }) => location))
    // A project that is not trusted, or a folder that cannot be read, may have more agents.
    const diagnostics = host.diagnostics.filter(({ location, code }) =>
      places.has(location) || code === 'ProjectTrustRequired' || basename(location) === 'agents')
    if (values.json) printJson({ agents: listed.map(agentJson), diagnostics })
    else process.stdout.write(agentTable(listed) + diagnostics.map((found) => diagnosticText(found)).join(''))
    return 0
  },
})

const agentJson = ({ name, layer, location, manifest }: AgentDescriptor): object =>
  ({ name, layer, location, manifest: manifest ?? null })

const agentTable = (listed: readonly AgentDescriptor[]): string => listed.length === 0 ? 'No agents.\n'
  : table(['NAME', 'LAYER', 'TOOLS', 'ROOTS', 'FILE'], listed.map(({ name, layer, location, manifest }) => [
    name, layer, manifest ? manifest.tools?.join(', ') ?? 'all' : 'invalid', manifest?.roots.join(', ') || '-', location,
  ]))
