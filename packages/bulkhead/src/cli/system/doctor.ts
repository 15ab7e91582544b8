import { styleText } from 'node:util'
import { visibleText } from '@bulkhead/kit/text'
import { defineCommand } from '../command.ts'
import { PLACE_OPTIONS, STORE_OPTION } from '../host-options.ts'
import type { Check } from './doctor-check.ts'
import { allChecks } from './doctor-checks.ts'
import { printJson } from '../output.ts'

export const doctor = defineCommand({
  options: { ...STORE_OPTION, ...PLACE_OPTIONS },
  details: `Checks Node, the isolation features of this machine, the age of the trust root, the policy of this machine,
the trust in this project, the configured servers, and the configuration. Opens every file of yours that a host uses:
the store, the record of changes, decisions, kits, guidance and tokens. For each finding it prints what it costs and how
to fix it. It starts no extension and connects to no server.`,
  exits: ['if there are only warnings, or nothing', 'if there is a problem'],
  examples: [
    { command: 'bulkhead doctor', text: 'why something does not work, or is less isolated than it could be' },
    { command: 'bulkhead doctor --json', text: 'the same for a script' },
  ],

  async run({ values }) {
    const checks = await allChecks(values)
    const count = (status: Check['status']) => checks.filter((check) => check.status === status).length
    const problems = count('problem')
    const warnings = count('warning')
    if (values.json) printJson({ checks, problems, warnings })
    else {
      const width = Math.max(...checks.map(({ name }) => name.length))
      process.stdout.write(`${checks.map((check) => checkText(check, width)).join('')}\n${total(problems, warnings)}\n`)
    }
    return problems > 0 ? 1 : 0
  },
})

const COLOURS = { ok: 'green', warning: 'yellow', problem: 'red' } as const
const STATUS_WIDTH = 'problem'.length

function checkText({ status, name, found, cost, cure }: Check, width: number): string {
  const indent = ' '.repeat(STATUS_WIDTH + width + 4)
  const more = [['cost', cost], ['cure', cure]].filter(([, text]) => text !== undefined)
    .map(([label, text]) => `${indent}${label}: ${visibleText(text!)}\n`)
  const shown = styleText(COLOURS[status], status.padEnd(STATUS_WIDTH))
  return `${shown}  ${name.padEnd(width)}  ${visibleText(found)}\n${more.join('')}`
}

function total(problems: number, warnings: number): string {
  const words = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`
  if (problems + warnings === 0) return 'Everything is fine.'
  return `${words(problems, 'problem')}, ${words(warnings, 'warning')}.`
}
