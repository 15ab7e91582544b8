import { signal } from '@preact/signals'
import { serverNow } from './api.ts'

/** The time of the server, each second. */
export const now = signal(serverNow())
setInterval(() => { now.value = serverNow() }, 1_000)
