import { attacksOf, refused } from '../case.ts'

const attack = attacksOf('Q', { alone: true, control: 'none' })

/** Of the attacks on manifests and packages only this one reaches a compartment; the loader refuses the others. */
export const manifest = [
  attack(251, 'a power that cannot be enforced here', '', [['open', refused('CapabilityUnavailable')]], {
    requires: { capabilities: ['tools.call'] },
  }),
]
