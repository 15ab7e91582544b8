const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/**
 * Whether a URL names the machine it is read on, so that what is sent there without encryption is read by nobody else. What another
 * name resolves to is not asked for.
 */
export const isThisMachine = ({ hostname }: Pick<URL, 'hostname'>): boolean => LOOPBACK.test(hostname)
