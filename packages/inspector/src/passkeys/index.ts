export { createRegistration, type NewPasskey, type Registration, type RegistrationOptions } from './registration.ts'
