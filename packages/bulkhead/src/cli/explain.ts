import { styleText } from 'node:util'
import { visibleText } from '@bulkhead/kit/text'
import type { ExplainedStep, Explanation } from '@bulkhead/host'
import { jsonText, table, tellFaults } from './output.ts'
import { meantCall, readArguments, readMode } from './call.ts'
import { type Command, UsageError } from './command.ts'
import {
  COMMON_DETAILS, COMMON_OPTIONS, openHost, readOptions, STORE_DETAILS, STORE_OPTIONS, terminal,
} from './host-options.ts'

export const explain: Command = {
  usage: 'bulkhead explain NAME [--args JSON] [--mode ask|allowlist|yolo] [--connect] [--no-store] [--json] [--workspace DIR] [--home DIR] [--trust-project]',
  details: `  --args JSON       arguments, a JSON object (default: {})
  --mode MODE       how to handle a call that requires approval (default: from the configuration, else ask)
  --connect         connect to the MCP server of the tool first, if its tools are not known yet
${STORE_DETAILS}
${COMMON_DETAILS}

Prints the rules that apply to the call and how to change the result. It does not prompt and does not run the tool.

Exit code: 0 if the call would be allowed or would require approval, 1 if it would be denied, 2 for wrong usage.`,

  async run(args) {
    const { values, positionals: [name, ...more] } = readOptions(args, {
      ...COMMON_OPTIONS, ...STORE_OPTIONS,
      args: { type: 'string' }, mode: { type: 'string' }, connect: { type: 'boolean' },
    })
    if (name === undefined) throw new UsageError('Missing tool name. Use: bulkhead explain NAME.')
    if (more.length > 0) throw new UsageError(`Unexpected argument "${more.join(' ')}". Name one tool.`)
    const call = { id: 'cli', name, arguments: readArguments(values.args) }
    const mode = readMode(values.mode)
    const interactor = terminal()
    const host = await openHost(values, true)
    try {
      const meant = await meantCall(host, call, values.connect === true)
      const session = await host.openSession({ ...(mode ? { mode } : {}), ...(interactor ? { interactor } : {}) })
      const explanation = await session.explain(meant)
      process.stdout.write(values.json ? jsonText(explanation) : toText(explanation))
      tellFaults(explanation.code, name, host)
      return explanation.decision === 'deny' ? 1 : 0
    } finally {
      await host.close()
    }
  },
}

const COLOURS = {
  allow: 'green', ask: 'yellow', deny: 'red', pass: 'dim', change: 'cyan',
} as const satisfies Record<ExplainedStep['action'], string>
const WORDS = { allow: 'would be allowed', ask: 'would require approval', deny: 'would be denied' } as const

function toText({ tool, decision, code, approvalKey, arguments: changed, chain, remedies }: Explanation): string {
  const rows = chain.map(({ stage, action, source, reason }) => [stage, action, source, reason])
  return [
    `${visibleText(tool)} ${styleText(COLOURS[decision], WORDS[decision])}${code === undefined ? '' : ` (${code})`}\n`,
    ...(approvalKey === null ? [] : [`key: ${visibleText(approvalKey)}\n`]),
    ...(changed === undefined ? [] : [`with: ${visibleText(JSON.stringify(changed))}\n`]),
    '\n', table(['STAGE', 'ACTION', 'SOURCE', 'REASON'], rows),
    ...(
      remedies.length === 0 ? [] : ['\nTo change this\n', ...remedies.map((remedy) => `  - ${visibleText(remedy)}\n`)]
    ),
  ].join('')
}
