import { signIn } from '@/auth'

export const GET = () => signIn('bailiwick', { redirectTo: '/' })
