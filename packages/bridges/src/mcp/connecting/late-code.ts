/** Loads what speaks to servers, before code of strangers runs. Never rejects. */
export const loadLateCode = (): Promise<unknown> => import('./transport/client.ts').catch(() => undefined)
