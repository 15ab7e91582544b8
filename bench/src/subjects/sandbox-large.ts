import { sandboxCalls } from './sandbox-small.ts'
import { LARGE_PAYLOAD_BYTES, largePayload } from '../loads/payload.ts'

export const subject = sandboxCalls(`${LARGE_PAYLOAD_BYTES / 1000} KB`, largePayload, [])
