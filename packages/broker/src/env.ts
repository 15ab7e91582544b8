import type { CompartmentServices } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import type { Capabilities } from './model/capability.ts'
import { textArgument } from './model/capability.ts'
import { requireUnderCeilings } from './model/denial.ts'

/** Variables one at a time and by declared name; there is no list to read. */
export function envCapability(services: CompartmentServices): Capabilities {
  return {
    'env.get'({ tool }, args) {
      const name = textArgument(args, 0, 'The name of a variable', 128)
      if (!services.envDeclared.has(name)) {
        throw new BulkheadError(
          'EnvNameUndeclared',
          `The manifest does not name the variable ${name}. Add it to \`env\`.`,
          { data: { name } },
        )
      }
      requireUnderCeilings(tool, 'env', `read the variable ${name}`, ({ env }) => env.includes(name))
      const value = services.env.get(name)
      if (value === undefined) {
        throw new BulkheadError(
          'EnvNameNotSet',
          `The variable ${name} has no value here. Set it for the host.`,
          { data: { name } },
        )
      }
      return value
    },
  }
}
