import { BulkheadError, messageOf } from '@bulkhead/contract'
import { CORE_VERSION } from '../version.ts'
import { call } from './call.ts'
import type { Command } from './command.ts'
import { tools } from './tools.ts'
import { UsageError } from './usage-error.ts'

const COMMANDS: ReadonlyMap<string, Command> = new Map([tools, call].map((command) => [command.name, command]))

/** Exit codes: 0 done, 1 the answer is an error, 2 wrong usage. */
export async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    process.stdout.write(help())
    return name === undefined ? 2 : 0
  }
  if (name === '--version' || name === '-v') {
    process.stdout.write(`${CORE_VERSION}\n`)
    return 0
  }
  const command = COMMANDS.get(name)
  try {
    if (!command) throw new UsageError(`There is no command "${name}".`)
    if (rest.includes('--help') || rest.includes('-h')) {
      process.stdout.write(`${command.usage}\n\n${command.details}\n`)
      return 0
    }
    return await command.run(rest)
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`${error.message}\n\n${command?.usage ?? help()}\n`)
      return 2
    }
    const { code, message } = BulkheadError.from(error)
    process.stderr.write(`${code}: ${messageOf(message)}\n`)
    return 1
  }
}

function help(): string {
  const lines = [...COMMANDS.values()].map((command) => `  ${command.name.padEnd(8)} ${command.summary}`)
  return `bulkhead ${CORE_VERSION}: a host for agent tools\n\nCommands\n${lines.join('\n')}\n\nbulkhead COMMAND --help tells more.\n`
}
