import { FLOORS, sandboxCalls } from '../families/sandbox-calls.ts'
import { payload, PAYLOAD_BYTES } from '../loads/payload.ts'

export const subject = sandboxCalls(`${PAYLOAD_BYTES} bytes`, payload, FLOORS)
